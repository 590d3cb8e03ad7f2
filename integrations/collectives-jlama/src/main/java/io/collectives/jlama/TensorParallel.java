package io.collectives.jlama;

import com.github.tjake.jlama.model.DistributedContext;
import com.github.tjake.jlama.safetensors.Config;
import com.github.tjake.jlama.safetensors.DType;
import com.github.tjake.jlama.tensor.AbstractTensor;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Tensor parallelism for Jlama: each rank holds a part of every layer's weights, and the partial
 * sums of attention and of the feed-forward block, two in each layer, are all-reduced where they
 * lie. Jlama's own workers send them to a coordinator, which adds them and sends them back.
 *
 * <pre>{@code
 * AbstractModel model = ModelSupport.loadModel(…, Optional.of(TensorParallel.shards(world)), …);
 * var sums = Optional.of(TensorParallel.sums(world));
 * AbstractTensor hidden = model.batchForward(prompt, 0, kv, sums);
 * int token = model.sample(hidden, 0f, 0f, logits);
 * hidden = model.forward(token, position, kv, sums);
 * }</pre>
 *
 * <p>Every rank must go through the same tokens, so it must sample the same ones: with temperature
 * 0, or with the random numbers of one rank. {@code model.generate} cannot be used, as it does not
 * take the sums. Threads: as the communicator, so that each world serves one session at a time.
 */
public final class TensorParallel {
  private TensorParallel() {}

  /**
   * Returns the division of a model over ranks, for Jlama's loader, which then reads this rank's
   * part of the weights.
   *
   * @param world the ranks; the numbers of attention heads and of heads of keys must be multiples
   *     of their number
   */
  public static Function<Config, DistributedContext> shards(Communicator world) {
    return config -> {
      checkHeads("attention heads", config.numberOfHeads, world.size());
      checkHeads("heads of keys and values", config.numberOfKeyValueHeads, world.size());
      return DistributedContext.builder(config)
          .setModelShard(world.rank())
          .setNumModelShards(world.size())
          .setTensorSync(sums(world))
          .build();
    };
  }

  /**
   * Returns the sum over all ranks, for the methods of a model that take a reducer of tensors.
   *
   * <p>Tensors must be of 32-bit floats: load the model with {@code DType.F32} as its working
   * memory.
   */
  public static Consumer<List<AbstractTensor>> sums(Communicator world) {
    return tensors -> {
      if (tensors.size() == 1) {
        world.allReduce(payload(tensors.get(0)), ReduceOp.SUM);
        return;
      }
      List<Payload> parts = new ArrayList<>(tensors.size());
      for (AbstractTensor<?, ?> tensor : tensors) {
        parts.add(payload(tensor));
      }
      world.allReduce(Payload.of(parts), ReduceOp.SUM);
    };
  }

  /** Returns the memory of a tensor, which is neither copied nor kept. */
  private static Payload payload(AbstractTensor<?, ?> tensor) {
    if (tensor.dType() != DType.F32) {
      throw new IllegalArgumentException(
          "a partial sum of type "
              + tensor.dType()
              + " cannot be added up: load the model with DType.F32 as its working memory");
    }
    ByteBuffer memory = tensor.getMemorySegment().asByteBuffer();
    return Payload.of(memory.order(ByteOrder.nativeOrder()), ElementType.FLOAT32);
  }

  private static void checkHeads(String what, int heads, int ranks) {
    if (heads % ranks != 0) {
      throw new IllegalArgumentException(
          "a model of "
              + heads
              + " "
              + what
              + " cannot be divided among "
              + ranks
              + " ranks: that number must divide it");
    }
  }
}
