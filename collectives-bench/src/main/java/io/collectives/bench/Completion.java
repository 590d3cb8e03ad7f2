package io.collectives.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Spec;

/**
 * {@code collectives completion}: a script by which a shell completes commands, options and values.
 * It knows values of lists behind a comma and of options that have the same label, which the script
 * of picocli does not.
 */
@Command(
    name = "completion",
    customSynopsis = "collectives completion",
    sortOptions = false,
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Print a script by which bash completes commands, options and values.",
      "",
      "zsh reads it after: autoload -U +X compinit bashcompinit && compinit && bashcompinit"
    },
    footer = {
      "  source <(bin/collectives completion)                           in this shell",
      "  bin/collectives completion >~/.local/share/bash-completion/completions/collectives",
      "                                                                 in every shell to come"
    })
final class Completion implements Callable<Integer> {
  private static final String HEAD =
      """
      # Completes collectives in bash, and in zsh with bashcompinit.
      _collectives() {
        local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
        local verb='' words='' i
        # --option=value is three words.
        if [ "$word" = = ]; then
          word=''
        elif [ "$before" = = ]; then
          before=${COMP_WORDS[COMP_CWORD-2]}
        fi
        for ((i = 1; i < COMP_CWORD; i++)); do
          case ${COMP_WORDS[i]} in
            --) return ;;
            -*) ;;
            *) verb=${verb:-${COMP_WORDS[i]}} ;;
          esac
        done
        case $verb in
      """;

  private static final String TAIL =
      """
        esac
        # Of a list what is behind the last comma is completed.
        local list=''
        case $word in
          *,*) list=${word%,*}, ;;
        esac
        COMPREPLY=()
        while IFS= read -r i; do
          COMPREPLY+=("$i")
        done < <(compgen -P "$list" -W "$words" -- "${word##*,}")
      }
      # Where it has no words the shell completes names of files.
      complete -o default -F _collectives collectives
      """;

  /** The commands that are followed by the name of a command. */
  private static final List<String> NAMING = List.of("help", "man");

  /** A value that can be written, before what may follow it. */
  private static final Pattern VALUE = Pattern.compile("([a-z0-9][a-z0-9.+-]*)(\\[.*)?");

  @Spec private CommandSpec spec;

  @Mixin private HelpOption help;

  @Override
  public Integer call() {
    spec.commandLine().getOut().print(script(spec.root().commandLine()));
    spec.commandLine().getOut().flush();
    return 0;
  }

  /** Returns the script for a command line with subcommands. */
  static String script(CommandLine line) {
    StringBuilder script = new StringBuilder(HEAD);
    List<String> verbs = new ArrayList<>();
    StringBuilder cases = new StringBuilder();
    line.getSubcommands()
        .forEach(
            (name, command) -> {
              if (!command.getCommandSpec().usageMessage().hidden()) {
                verbs.add(name);
                if (!NAMING.contains(name)) {
                  verb(cases, name, command.getCommandSpec());
                }
              }
            });
    String names = String.join(" ", verbs);
    script.append("    '') words='").append(names).append(' ');
    script.append(options(line.getCommandSpec())).append("' ;;\n");
    script.append("    ").append(String.join(" | ", NAMING));
    script.append(") words='").append(names).append("' ;;\n");
    return script.append(cases).append(TAIL).toString();
  }

  private static void verb(StringBuilder to, String name, CommandSpec command) {
    to.append("    ").append(name).append(")\n      case $before in\n");
    List<String> free = new ArrayList<>();
    for (OptionSpec option : command.options()) {
      String names = String.join(" | ", option.names());
      String values = values(option);
      if (!values.isEmpty()) {
        to.append("        ").append(names).append(") words='").append(values).append("' ;;\n");
      } else if (option.arity().max() > 0) {
        free.add(names);
      }
    }
    if (!free.isEmpty()) {
      to.append("        ").append(String.join(" | ", free)).append(") ;;\n");
    }
    to.append("        *) words='").append(options(command)).append("' ;;\n      esac ;;\n");
  }

  private static String options(CommandSpec command) {
    return command.options().stream()
        .filter(option -> !option.hidden())
        .flatMap(option -> Stream.of(option.names()))
        .collect(Collectors.joining(" "));
  }

  /** The values of an option that has some; several may be one text, as the help has them. */
  private static String values(OptionSpec option) {
    Iterable<String> candidates = option.completionCandidates();
    return candidates == null
        ? ""
        : StreamSupport.stream(candidates.spliterator(), false)
            .flatMap(text -> Stream.of(text.split(", ")))
            .map(VALUE::matcher)
            .filter(Matcher::matches)
            .map(matcher -> matcher.group(1))
            .distinct()
            .collect(Collectors.joining(" "));
  }
}
