package io.collectives.bench;

import io.collectives.CollectiveException;
import io.collectives.bench.accuracy.WireChoice;
import io.collectives.bench.chaos.Range;
import io.collectives.bench.digits.DigitsTask;
import io.collectives.bench.network.LinkRate;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.bench.report.ByteSize;
import io.collectives.bench.report.Provenance;
import io.collectives.bench.simulate.PlanChoice;
import io.collectives.engine.memory.Kernels;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/** The command {@code collectives}. */
@Command(
    name = "collectives",
    versionProvider = Main.Version.class,
    synopsisSubcommandLabel = "COMMAND",
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    commandListHeading = "%nCommands:%n",
    footerHeading = "%nExamples:%n",
    description =
        "Collective communication for training jobs, in pure Java: try it, launch jobs, measure it.",
    footer = {
      "  collectives demo                                   4 processes average ResNet-50's gradients",
      "  collectives train                                  4 processes learn to read digits",
      "  collectives launch -n 4 -- java -cp app.jar Train  4 processes of your own program",
      "  collectives perf --bytes 8,64K,1M,16M --check      what an all-reduce takes here",
      "  collectives compare --peers openmpi,gloo           and what it takes other libraries",
      "  collectives verify --algorithm torus               the proof that a plan is right, and its price",
      "  collectives simulate --mesh 128x32                 what it would take on 4,096 ranks",
      "  collectives paper herring-10                       figures of papers, beside what these print",
      "  collectives accuracy --wire int8                   how far sums are from exact ones",
      "  collectives scaling                                what overlap, sharding and fusion buy, to 4,096 ranks",
      "  collectives update                                 what an optimizer's update takes, with and without shards",
      "  collectives auc                                    the exact area of 90 million scores, in seconds",
      "  collectives chaos --faults 20                      what jobs do when ranks are killed or stopped",
      "  collectives status                                 what a running job does, and who is late",
      "  collectives flight records/                        what the ranks of a failed job were doing",
      "  collectives report run1/                           where the time of a run went, and what to change",
      "  collectives timeline traces/                       which rank the others of a traced job waited for",
      "  collectives help perf                              all about one command; man perf has it as a page",
      "",
      "Exit status: 0 all went well; 1 a check or a job failed; 2 wrong usage."
    })
public final class Main implements Callable<Integer> {
  /** All commands, in the order of the help. */
  private static final List<Class<?>> COMMANDS =
      List.of(
          Demo.class,
          Train.class,
          Launch.class,
          Perf.class,
          Compare.class,
          Verify.class,
          Simulate.class,
          Paper.class,
          Accuracy.class,
          Scaling.class,
          Update.class,
          Auc.class,
          Chaos.class,
          Status.class,
          Flight.class,
          Timeline.class,
          Report.class,
          Jmh.class,
          Completion.class,
          Manual.class,
          CommandLine.HelpCommand.class,
          Demo.Rank.class,
          Train.Rank.class,
          Perf.Rank.class,
          Chaos.Rank.class);

  /** These tell of all commands. */
  private static final Set<String> ABOUT_ALL = Set.of("help", "completion", "man");

  @Spec private CommandSpec spec;

  @Mixin private HelpOption help;

  @Option(
      names = {"-V", "--version"},
      versionHelp = true,
      description = "Print the versions of this program and of Java.")
  private boolean version;

  /** Runs a command and ends this JVM with its exit status. */
  public static void main(String[] args) {
    System.exit(run(commandLine(args), args));
  }

  /**
   * The command line that reads these arguments: with the command that they name only, as picocli
   * takes half a second to look at all of them; with all where they begin with none.
   */
  static CommandLine commandLine(String... args) {
    CommandLine line = new CommandLine(new Main());
    String first = args.length > 0 ? args[0] : "";
    List<Class<?>> named = COMMANDS.stream().filter(type -> name(type).equals(first)).toList();
    boolean isOne = !named.isEmpty() && !ABOUT_ALL.contains(first);
    (isOne ? named : COMMANDS).forEach(line::addSubcommand);
    line.registerConverter(ByteSize.class, Usage.reader(ByteSize::parse));
    line.registerConverter(AlgorithmChoice.class, Usage.reader(AlgorithmChoice::new));
    line.registerConverter(PlanChoice.class, Usage.reader(PlanChoice::new));
    line.registerConverter(WireChoice.class, Usage.reader(WireChoice::parse));
    line.registerConverter(LinkRate.class, Usage.reader(LinkRate::parse));
    line.registerConverter(Range.class, Usage.reader(Range::parse));
    line.registerConverter(DigitsTask.Kill.class, Usage.reader(DigitsTask.Kill::parse));
    line.registerConverter(DigitsTask.Slow.class, Usage.reader(DigitsTask.Slow::parse));
    line.registerConverter(Duration.class, Usage.reader(Usage::duration));
    readLabels(line);
    line.setUsageHelpWidth(120);
    line.setUsageHelpLongOptionsMaxWidth(34);
    line.setParameterExceptionHandler(Main::wrongUsage);
    line.setExecutionExceptionHandler(Main::failed);
    // What follows the command's name is not for this program.
    Optional.ofNullable(line.getSubcommands().get("launch"))
        .ifPresent(launch -> launch.setStopAtPositional(true));
    Optional.ofNullable(line.getSubcommands().get("jmh"))
        .ifPresent(
            jmh -> jmh.setStopAtPositional(true).setUnmatchedOptionsArePositionalParams(true));
    return line;
  }

  private static String name(Class<?> command) {
    return command.getAnnotation(Command.class).name();
  }

  /** The constants of all enumerations are read by what their {@code toString} says. */
  @SuppressWarnings({"unchecked", "rawtypes"})
  private static void readLabels(CommandLine line) {
    line.getSubcommands().values().stream()
        .flatMap(command -> command.getCommandSpec().options().stream())
        .flatMap(option -> Arrays.stream(option.auxiliaryTypes()))
        .filter(Class::isEnum)
        .distinct()
        .forEach(type -> line.registerConverter((Class) type, Usage.labels((Class) type)));
  }

  static int run(CommandLine line, String... args) {
    try {
      Optional<String> unknown = unknownCommand(line, args);
      if (unknown.isPresent()) {
        line.getErr().println(unknown.get());
        line.getErr().flush();
        return ExitStatus.WRONG_USAGE;
      }
      return line.execute(args);
    } catch (OutOfMemoryError e) {
      line.getErr()
          .println(
              "collectives: out of memory ("
                  + e.getMessage()
                  + "); fewer bytes or ranks, or a larger heap, may help");
      return ExitStatus.FAILED;
    }
  }

  /**
   * Returns an error message if the first word that is not an option names no command. It is
   * checked here because the help of an unknown command would otherwise print the general help.
   */
  private static Optional<String> unknownCommand(CommandLine line, String[] args) {
    List<String> words =
        Arrays.stream(args).filter(word -> !word.startsWith("-")).limit(2).toList();
    boolean ofHelp = !words.isEmpty() && words.get(0).equals("help");
    if (words.size() < (ofHelp ? 2 : 1)) {
      return Optional.empty();
    }
    String word = words.get(ofHelp ? 1 : 0);
    if (line.getSubcommands().containsKey(word)) {
      return Optional.empty();
    }
    List<String> commands =
        line.getSubcommands().entrySet().stream()
            .filter(entry -> !entry.getValue().getCommandSpec().usageMessage().hidden())
            .map(Map.Entry::getKey)
            .toList();
    List<String> near = nearest(word, commands);
    return Optional.of(
        "collectives: there is no command '"
            + word
            + "'; "
            + (near.isEmpty()
                ? "there are " + String.join(", ", commands)
                : "did you mean " + String.join(" or ", near))
            + "; try 'collectives --help'");
  }

  /** Returns the names that differ from a word in few letters or begin with it, nearest first. */
  static List<String> nearest(String word, List<String> names) {
    return names.stream()
        .filter(name -> name.startsWith(word) || changes(word, name) <= 1 + name.length() / 4)
        .sorted(Comparator.comparingInt(name -> changes(word, name)))
        .toList();
  }

  /** Returns the Levenshtein distance: insertions, deletions and replacements of letters. */
  private static int changes(String from, String to) {
    int[] row = IntStream.rangeClosed(0, to.length()).toArray();
    for (int i = 1; i <= from.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= to.length(); j++) {
        int replaced = diagonal + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[to.length()];
  }

  /** Without a command: the help, as an error. */
  @Override
  public Integer call() {
    spec.commandLine().usage(spec.commandLine().getErr());
    return ExitStatus.WRONG_USAGE;
  }

  private static int wrongUsage(ParameterException e, String[] args) {
    CommandLine line = e.getCommandLine();
    String name = line.getCommandSpec().qualifiedName();
    line.getErr().println(name + ": " + oneLine(message(e)) + "; try '" + name + " --help'");
    return ExitStatus.WRONG_USAGE;
  }

  /** Returns the message of an error in fewer words than picocli's. */
  private static String message(ParameterException e) {
    if (e instanceof UnmatchedArgumentException unmatched) {
      String what = "'" + unmatched.getUnmatched().get(0) + "'";
      if (unmatched.isUnknownOption()) {
        List<String> near =
            nearest(
                unmatched.getUnmatched().get(0).replaceFirst("=.*", ""),
                e.getCommandLine().getCommandSpec().optionsMap().keySet().stream()
                    .filter(name -> name.startsWith("--"))
                    .toList());
        return "unknown option "
            + what
            + (near.isEmpty() ? "" : "; did you mean " + String.join(" or ", near));
      }
      return "unexpected argument " + what;
    }
    return e.getMessage()
        .replaceFirst("^Invalid value for option '([^']+)'( \\([^)]*\\))?: ", "$1: ")
        .replaceFirst("^Missing", "missing")
        .replaceFirst(" is not an? (int|long)$", " is no whole number")
        .replaceFirst(" is not a double$", " is no number");
  }

  private static int failed(Exception e, CommandLine line, ParseResult result) {
    PrintWriter err = line.getErr();
    String name = line.getCommandSpec().qualifiedName();
    if (e instanceof CollectiveException || e instanceof IOException) {
      err.println(name + ": " + oneLine(String.valueOf(e.getMessage())));
    } else {
      err.println(name + ": this should not have happened");
      e.printStackTrace(err);
    }
    err.flush();
    return ExitStatus.FAILED;
  }

  private static String oneLine(String text) {
    return text.strip().replaceAll("\\s*\\R\\s*", " ");
  }

  static final class Version implements IVersionProvider {
    @Override
    public String[] getVersion() {
      String copies = Kernels.areTried() ? "" : ", off-heap sums by " + Kernels.describe();
      return new String[] {Provenance.line() + copies};
    }
  }
}
