package io.collectives.bench;

import io.collectives.bench.report.Provenance;
import io.collectives.bench.report.Terminal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code collectives man}: the manual page of a command, made of what its help says. */
@Command(
    name = "man",
    customSynopsis = "collectives man [COMMAND]",
    sortOptions = false,
    descriptionHeading = "%n",
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Show the manual page of this program or of one of its commands.",
      "",
      "On a terminal man shows it. Elsewhere, and without man, its source is printed, in roff."
    },
    footer = {
      "  bin/collectives man perf",
      "  bin/collectives man perf >collectives-perf.1    a page to install"
    })
final class Manual implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Parameters(
      arity = "0..1",
      paramLabel = "COMMAND",
      description = "The command; without one, the page is that of the program.")
  private Optional<String> command = Optional.empty();

  @Mixin private HelpOption help;

  @Override
  public Integer call() throws IOException, InterruptedException {
    Map<String, CommandLine> commands = spec.root().subcommands();
    command.ifPresent(
        name ->
            Usage.require(
                commands.containsKey(name),
                spec,
                "there is no command '" + name + "'; there are " + String.join(", ", shown())));
    CommandSpec wanted =
        command.map(name -> commands.get(name).getCommandSpec()).orElse(spec.root());
    String page = page(wanted);
    if (!Terminal.isOutput() || !show(page)) {
      spec.commandLine().getOut().print(page);
      spec.commandLine().getOut().flush();
    }
    return 0;
  }

  private List<String> shown() {
    return spec.root().subcommands().entrySet().stream()
        .filter(entry -> !entry.getValue().getCommandSpec().usageMessage().hidden())
        .map(Map.Entry::getKey)
        .toList();
  }

  /** Returns whether there is a man, which has shown the page then. */
  private static boolean show(String page) throws IOException, InterruptedException {
    Path file = Files.createTempFile("collectives", ".1");
    try {
      Files.writeString(file, page);
      new ProcessBuilder("man", file.toString()).inheritIO().start().waitFor();
      return true;
    } catch (IOException e) {
      return false;
    } finally {
      Files.delete(file);
    }
  }

  /** Returns the page of a command, for the macros {@code man} of roff. */
  static String page(CommandSpec command) {
    CommandLine.Model.UsageMessageSpec usage = command.usageMessage();
    List<String> description = lines(usage.description());
    List<String> page = new ArrayList<>();
    String name = command.qualifiedName("-");
    page.add(
        String.format(
            ".TH \"%s\" 1 \"\" \"collectives %s\"",
            escaped(name.toUpperCase(Locale.ROOT)), Provenance.version()));
    page.add(".SH NAME");
    page.add(escaped(name) + " \\- " + escaped(summary(command)));
    page.add(".SH SYNOPSIS");
    String synopsis = new CommandLine.Help(command).synopsis(0).strip();
    page.add(text(synopsis));
    page.add(".SH DESCRIPTION");
    for (String line : description) {
      page.add(line.isEmpty() ? ".PP" : text(line));
    }
    section(page, "PARAMETERS", command.positionalParameters());
    section(page, "OPTIONS", command.options());
    List<CommandSpec> commands =
        command.subcommands().values().stream()
            .map(CommandLine::getCommandSpec)
            .filter(each -> !each.usageMessage().hidden())
            .toList();
    if (!commands.isEmpty()) {
      page.add(".SH COMMANDS");
      for (CommandSpec each : commands) {
        page.add(".TP");
        page.add("\\fB" + escaped(each.name()) + "\\fR");
        page.add(text(summary(each)));
      }
    }
    footer(page, lines(usage.footer()));
    return String.join("\n", page) + "\n";
  }

  private static String summary(CommandSpec command) {
    CommandLine.Model.UsageMessageSpec usage = command.usageMessage();
    return Stream.concat(lines(usage.header()).stream(), lines(usage.description()).stream())
        .filter(line -> !line.isBlank())
        .findFirst()
        .orElse(command.name());
  }

  /** The lines of a text of the help, which is a format. */
  private static List<String> lines(String[] formats) {
    return Stream.of(formats)
        .flatMap(format -> Stream.of(String.format(format).split("\n")))
        .toList();
  }

  private static void section(List<String> page, String title, List<? extends ArgSpec> entries) {
    List<? extends ArgSpec> shown = entries.stream().filter(entry -> !entry.hidden()).toList();
    if (!shown.isEmpty()) {
      page.add(".SH " + title);
    }
    for (ArgSpec entry : shown) {
      page.add(".TP");
      page.add(head(entry));
      lines(entry.description()).forEach(line -> page.add(text(line)));
    }
  }

  private static String head(ArgSpec entry) {
    String label = "\\fI" + escaped(entry.paramLabel()) + "\\fR";
    if (!(entry instanceof OptionSpec option)) {
      return label;
    }
    String names =
        Stream.of(option.names())
            .map(name -> "\\fB" + escaped(name) + "\\fR")
            .collect(Collectors.joining(", "));
    if (option.arity().max() == 0) {
      return names;
    }
    return names + (option.arity().min() == 0 ? "[=" + label + "]" : " " + label);
  }

  /** Examples, which stand as they are, and what is said after them. */
  private static void footer(List<String> page, List<String> footer) {
    List<String> examples = footer.stream().filter(line -> line.startsWith("  ")).toList();
    if (!examples.isEmpty()) {
      page.add(".SH EXAMPLES");
      page.add(".nf");
      examples.forEach(line -> page.add(text(line)));
      page.add(".fi");
    }
    String exit = "Exit status: ";
    for (String line : footer) {
      if (line.startsWith(exit)) {
        page.add(".SH EXIT STATUS");
        page.add(text(line.substring(exit.length())));
      }
    }
  }

  /** A line that begins with a dot or a quote would be a request to roff. */
  private static String text(String line) {
    String escaped = escaped(line);
    return escaped.startsWith(".") || escaped.startsWith("'") ? "\\&" + escaped : escaped;
  }

  private static String escaped(String text) {
    return text.replace("\\", "\\e").replace("-", "\\-");
  }
}
