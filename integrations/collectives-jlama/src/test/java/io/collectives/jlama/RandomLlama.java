package io.collectives.jlama;

import com.github.tjake.jlama.math.ActivationFunction;
import com.github.tjake.jlama.model.AbstractModel;
import com.github.tjake.jlama.model.llama.LlamaConfig;
import com.github.tjake.jlama.model.llama.LlamaModel;
import com.github.tjake.jlama.safetensors.DType;
import com.github.tjake.jlama.safetensors.SafeTensorSupport;
import com.github.tjake.jlama.tensor.AbstractTensor;
import com.github.tjake.jlama.tensor.KvBufferCache;
import io.collectives.Collectives;
import io.collectives.Communicator;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.StringJoiner;
import java.util.function.Consumer;

/**
 * A small Llama with random weights, in a file as they are published, and a program that continues
 * a prompt with it on all ranks of a job.
 */
public final class RandomLlama {
  private static final int WIDTH = 256;
  private static final int HIDDEN = 512;
  private static final int HEADS = 8;
  private static final int KEY_HEADS = 4;
  private static final int LAYERS = 4;
  private static final int VOCABULARY = 300;
  private static final int TOKENS = 16;
  private static final int[] PROMPT = {1, 17, 42, 99};

  private RandomLlama() {}

  /**
   * Prints the tokens that follow the prompt, and the length of the last hidden state.
   *
   * @param arguments the directory with the model
   */
  public static void main(String[] arguments) {
    try (Communicator world = Collectives.joinOrAlone()) {
      System.out.println(generate(load(Path.of(arguments[0]), world), world));
    }
  }

  /** Writes the weights. */
  static void write(Path directory) throws IOException {
    Map<String, int[]> shapes = new LinkedHashMap<>();
    shapes.put("model.embed_tokens.weight", new int[] {VOCABULARY, WIDTH});
    shapes.put("model.norm.weight", new int[] {WIDTH});
    shapes.put("lm_head.weight", new int[] {VOCABULARY, WIDTH});
    int keys = WIDTH / HEADS * KEY_HEADS;
    for (int layer = 0; layer < LAYERS; layer++) {
      String base = "model.layers." + layer + ".";
      shapes.put(base + "input_layernorm.weight", new int[] {WIDTH});
      shapes.put(base + "post_attention_layernorm.weight", new int[] {WIDTH});
      shapes.put(base + "self_attn.q_proj.weight", new int[] {WIDTH, WIDTH});
      shapes.put(base + "self_attn.k_proj.weight", new int[] {keys, WIDTH});
      shapes.put(base + "self_attn.v_proj.weight", new int[] {keys, WIDTH});
      shapes.put(base + "self_attn.o_proj.weight", new int[] {WIDTH, WIDTH});
      shapes.put(base + "mlp.gate_proj.weight", new int[] {HIDDEN, WIDTH});
      shapes.put(base + "mlp.up_proj.weight", new int[] {HIDDEN, WIDTH});
      shapes.put(base + "mlp.down_proj.weight", new int[] {WIDTH, HIDDEN});
    }
    StringJoiner entries = new StringJoiner(",", "{", "}");
    int length = 0;
    for (Map.Entry<String, int[]> tensor : shapes.entrySet()) {
      int bytes = Float.BYTES;
      StringJoiner shape = new StringJoiner(",", "[", "]");
      for (int size : tensor.getValue()) {
        bytes *= size;
        shape.add("" + size);
      }
      entries.add(
          String.format(
              "\"%s\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":[%d,%d]}",
              tensor.getKey(), shape, length, length + bytes));
      length += bytes;
    }
    String head = entries.toString();
    head += " ".repeat(-head.length() & 7);
    ByteBuffer file = ByteBuffer.allocate(Long.BYTES + head.length() + length);
    file.order(ByteOrder.LITTLE_ENDIAN).putLong(head.length());
    file.put(head.getBytes(StandardCharsets.US_ASCII));
    Random random = new Random(5);
    for (Map.Entry<String, int[]> tensor : shapes.entrySet()) {
      int[] shape = tensor.getValue();
      int count = shape.length == 1 ? shape[0] : shape[0] * shape[1];
      for (int i = 0; i < count; i++) {
        file.putFloat(shape.length == 1 ? 1 : (float) (random.nextGaussian() * 0.08));
      }
    }
    Files.write(directory.resolve("model.safetensors"), file.array());
  }

  static AbstractModel load(Path directory, Communicator world) {
    LlamaConfig config =
        new LlamaConfig(
            64,
            WIDTH,
            HIDDEN,
            HEADS,
            KEY_HEADS,
            LAYERS,
            1e-5f,
            VOCABULARY,
            1,
            2,
            ActivationFunction.Type.SILU,
            10_000.0,
            null);
    config.setDistributedContext(TensorParallel.shards(world).apply(config));
    return new LlamaModel(
        config,
        SafeTensorSupport.loadWeights(directory.toFile()),
        null,
        DType.F32,
        DType.F32,
        Optional.empty());
  }

  static String generate(AbstractModel model, Communicator world) {
    Optional<Consumer<List<AbstractTensor>>> sums = Optional.of(TensorParallel.sums(world));
    StringBuilder tokens = new StringBuilder();
    try (KvBufferCache cache = new KvBufferCache(model);
        KvBufferCache.KvBuffer kv = cache.getEphemeralKvBuffer();
        AbstractTensor<?, ?> logits = model.makeDenseTensor(VOCABULARY)) {
      AbstractTensor<?, ?> prompt = model.batchForward(PROMPT, 0, kv, sums);
      AbstractTensor<?, ?> last = prompt.slice(prompt.shape().first() - 1);
      int token = model.sample(last, 0, 0, logits);
      double length = 0;
      for (int i = 0; i < TOKENS; i++) {
        tokens.append(token).append(' ');
        AbstractTensor<?, ?> hidden = model.forward(token, PROMPT.length + i, kv, sums);
        token = model.sample(hidden, 0, 0, logits);
        length = 0;
        for (int j = 0; j < WIDTH; j++) {
          length += hidden.get(0, j) * hidden.get(0, j);
        }
        hidden.close();
      }
      return tokens.append(Math.sqrt(length)).toString();
    }
  }
}
