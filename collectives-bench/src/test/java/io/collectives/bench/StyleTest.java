package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The sources and pages of the project keep the house's rules of size and of words. */
@Tag("once")
class StyleTest {
  private static final Path ROOT = Path.of("..");
  private static final int JAVA_LINE = 100;
  private static final int PAGE_LINE = 160;
  private static final int PARAMETERS = 7;
  private static final int CLASS_LINES = 600;
  private static final int README_LINES = 150;
  private static final int PERFORMANCE_WORDS = 1500;

  /** The first words of the sentence by which a long class says why it is one thing. */
  private static final String REASON = "One class because";

  /** Settings that are read by name and changed by {@code with…} methods. */
  private static final Set<String> SETTINGS = Set.of("CallSettings", "JobSettings");

  /** First words of a summary that point at something instead of naming it. */
  private static final Pattern POINTING =
      Pattern.compile(
          "(The same|That of|Those|What|Who|Whose|Whoever|Whether|Likewise|As|One|Nothing|Nobody"
              + "|How|Where|When)\\b.*",
          Pattern.DOTALL);

  /** The project's former words, each with the field's word for it. */
  private static final Map<String, String> WORDS =
      Map.ofEntries(
          Map.entry("seat", "rank, place or group context"),
          Map.entry("meeting", "rendezvous, join or fused reduction"),
          Map.entry("crew", "(gone)"),
          Map.entry("swap", "exchange"),
          Map.entry("snapshot", "copy or checkpoint"),
          Map.entry("loan", "lease"),
          Map.entry("lend", "lease"),
          Map.entry("lent", "leased"),
          Map.entry("borrow", "lease"),
          Map.entry("mailbox", "slot"),
          Map.entry("guest", "contributor"),
          Map.entry("conversation", "control channel"),
          Map.entry("spoiler", "aborted peer"),
          Map.entry("nonsense", "protocol error"),
          Map.entry("stranger", "unauthenticated peer"),
          Map.entry("greeting", "handshake"),
          Map.entry("farewell", "close"),
          Map.entry("neighbourhood", "shared-memory domain"),
          Map.entry("workshop", "peer build"),
          Map.entry("contender", "peer"),
          Map.entry("shelf", "buffer pool"),
          Map.entry("colour", "color"));

  /** A word of a comment, or a part of a name, but for what the JDK names. */
  private static final Pattern WORD = Pattern.compile("(?<!Collections\\.)(?:[A-Z]?[a-z]+|[A-Z]+)");

  /** A block tag that javadoc would take for text, as it does not begin its line. */
  private static final Pattern TAG_IN_LINE =
      Pattern.compile("\n *(?:/\\*)?\\* .*[^\\s{*] (@(?:param|return|throws|since|see))\\b");

  private static final Pattern JAVADOC = Pattern.compile("/\\*\\*(.*?)\\*/", Pattern.DOTALL);

  /** The name before a list of parameters or of arguments. */
  private static final Pattern OPENING = Pattern.compile("(\\w+)(?:<[^<>()]*>)?\\s*\\(");

  /** The declaration of a parameter, which no expression looks like. */
  private static final Pattern PARAMETER =
      Pattern.compile(
          "(?:@\\w+\\s+|final\\s+)*+(?!new\\b)[\\w.]++(?:<.*>)?(?:[\\s@\\w\\[\\]]|\\.{3})*\\s\\w+",
          Pattern.DOTALL);

  @Test
  void sourcesKeepTheRules() throws IOException {
    List<String> found = new ArrayList<>();
    List<Path> files = javaFiles();
    for (Path file : files) {
      String text = Files.readString(file);
      check(file, text, (line, what) -> found.add(place(file, line) + what));
    }
    assertNone(found);
    assertTrue(files.size() > 500, files.size() + " files found");
  }

  @Test
  void pagesKeepTheRules() throws IOException {
    List<String> found = new ArrayList<>();
    for (Path page : pages()) {
      List<String> lines = Files.readAllLines(page);
      boolean isCode = false;
      for (int i = 0; i < lines.size(); i++) {
        String line = lines.get(i);
        isCode ^= line.strip().startsWith("```");
        boolean isFree = isCode || line.strip().startsWith("|") || line.contains("](");
        if (line.length() > PAGE_LINE && !isFree) {
          String what =
              String.format(
                  "a line of %d characters, %d are allowed outside of tables, links and code:"
                      + " break it",
                  line.length(), PAGE_LINE);
          found.add(place(page, i + 1) + what);
        }
      }
    }
    checkSize(found, "README.md", README_LINES, "lines", "docs/");
    checkSize(found, "docs/PERFORMANCE.md", PERFORMANCE_WORDS, "words", "docs/journal/");
    assertNone(found);
  }

  private static void checkSize(
      List<String> found, String page, int most, String unit, String elsewhere) throws IOException {
    String separator = unit.equals("words") ? "\\s+" : "\n";
    int size = Files.readString(ROOT.resolve(page)).strip().split(separator).length;
    if (size > most) {
      String what =
          String.format("%d %s, %d are allowed: move text to %s", size, unit, most, elsewhere);
      found.add(page + ":1: " + what);
    }
  }

  private static void assertNone(List<String> violations) {
    assertTrue(violations.isEmpty(), () -> String.join("\n", violations));
  }

  private static void check(Path file, String text, BiConsumer<Integer, String> report) {
    String[] lines = text.split("\n", -1);
    boolean isTextBlock = false;
    for (int i = 0; i < lines.length; i++) {
      isTextBlock ^= lines[i].split("\"\"\"", -1).length % 2 == 0;
      boolean isFree =
          isTextBlock || lines[i].startsWith("import ") || lines[i].strip().startsWith("\"");
      if (lines[i].length() > JAVA_LINE && !isFree) {
        report.accept(
            i + 1,
            "a line of "
                + lines[i].length()
                + " characters, "
                + JAVA_LINE
                + " are allowed: break it");
      }
    }
    if (!file.endsWith("StyleTest.java")) {
      checkWords(text, report);
    }
    checkSummaries(text, report);
    if (!file.toString().replace('\\', '/').contains("/src/main/")) {
      return;
    }
    checkTags(text, report);
    checkParameters(text, report);
    if (lines.length - 1 > CLASS_LINES && !text.contains(REASON)) {
      report.accept(
          1,
          "a class of "
              + (lines.length - 1)
              + " lines, "
              + CLASS_LINES
              + " are allowed: divide it, or say why not in a paragraph of its javadoc that begins"
              + " \""
              + REASON
              + "\"");
    }
  }

  private static void checkWords(String text, BiConsumer<Integer, String> report) {
    String words = blank(text, false);
    Matcher word = WORD.matcher(words);
    while (word.find()) {
      String found = word.group().toLowerCase(Locale.ROOT);
      String one = found.endsWith("s") ? found.substring(0, found.length() - 1) : found;
      String better = WORDS.get(one);
      if (better != null) {
        report.accept(
            line(text, word.start()), "the word \"" + found + "\": the field's is " + better);
      }
    }
  }

  private static void checkSummaries(String text, BiConsumer<Integer, String> report) {
    Matcher comment = JAVADOC.matcher(text);
    while (comment.find()) {
      String summary = comment.group(1).replaceAll("\\s*\n\\s*\\*", " ").strip();
      Matcher pointing = POINTING.matcher(summary);
      if (pointing.matches()) {
        report.accept(
            line(text, comment.start()),
            "a summary that begins with \""
                + pointing.group(1)
                + "\": begin with what it is, or with what it does");
      }
    }
  }

  private static void checkTags(String text, BiConsumer<Integer, String> report) {
    Matcher tag = TAG_IN_LINE.matcher(text);
    while (tag.find()) {
      report.accept(
          line(text, tag.start(1)),
          tag.group(1) + " behind other words: give it a line of its own");
    }
  }

  private static void checkParameters(String text, BiConsumer<Integer, String> report) {
    String code = blank(text, true);
    Matcher opening = OPENING.matcher(code);
    while (opening.find()) {
      int count = parameters(code, opening.end());
      if (count > PARAMETERS && !SETTINGS.contains(opening.group(1))) {
        report.accept(
            line(text, opening.start()),
            "a list of "
                + count
                + " parameters of "
                + opening.group(1)
                + ", "
                + PARAMETERS
                + " are allowed: make an object of those that belong together");
      }
    }
  }

  /** Counts the parameters of a declaration; returns 0 for arguments and anything else. */
  private static int parameters(String code, int start) {
    int depth = 0;
    int angle = 0;
    int from = start;
    int count = 0;
    for (int i = start; i < code.length(); i++) {
      char c = code.charAt(i);
      angle += c == '<' ? 1 : c == '>' ? -1 : 0;
      if (depth == 0 && (c == ')' || c == ',' && angle == 0)) {
        if (!PARAMETER.matcher(code.substring(from, i).strip()).matches()) {
          return 0;
        }
        count++;
        from = i + 1;
        if (c == ')') {
          return count;
        }
      }
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (c == ';' || c == '{' || c == '}') {
        return 0;
      }
    }
    return 0;
  }

  /** Replaces the contents of strings and, if asked for, comments by blanks; lines stay. */
  private static String blank(String text, boolean comments) {
    char[] code = text.toCharArray();
    int i = 0;
    while (i < code.length) {
      int end = i + 1;
      boolean isBlank = false;
      if (text.startsWith("/*", i)) {
        end = text.indexOf("*/", i + 2) + 2;
        isBlank = comments;
      } else if (text.startsWith("//", i)) {
        end = text.indexOf('\n', i);
        isBlank = comments;
      } else if (text.startsWith("\"\"\"", i)) {
        end = text.indexOf("\"\"\"", i + 3) + 3;
        isBlank = true;
      } else if (code[i] == '"' || code[i] == '\'') {
        while (text.charAt(end) != code[i]) {
          end += text.charAt(end) == '\\' ? 2 : 1;
        }
        end++;
        isBlank = true;
      }
      for (; i < end; i++) {
        code[i] = isBlank && code[i] != '\n' ? ' ' : code[i];
      }
    }
    return new String(code);
  }

  private static int line(String text, int offset) {
    return 1 + (int) text.substring(0, offset).chars().filter(c -> c == '\n').count();
  }

  private static String place(Path file, int line) {
    return name(file) + ":" + line + ": ";
  }

  private static String name(Path file) {
    return ROOT.relativize(file).toString().replace('\\', '/');
  }

  private static List<Path> javaFiles() throws IOException {
    List<Path> all = new ArrayList<>();
    for (Path module : modules()) {
      try (Stream<Path> files = Files.walk(module.resolve("src"))) {
        files
            .filter(file -> file.toString().endsWith(".java"))
            .filter(file -> !file.toString().replace('\\', '/').contains("/resources/"))
            .sorted()
            .forEach(all::add);
      }
    }
    return all;
  }

  private static List<Path> modules() throws IOException {
    try (Stream<Path> modules = Files.list(ROOT);
        Stream<Path> adapters = Files.list(ROOT.resolve("integrations"))) {
      return Stream.concat(modules, adapters)
          .filter(entry -> entry.getFileName().toString().startsWith("collectives-"))
          .filter(entry -> Files.isDirectory(entry.resolve("src")))
          .sorted()
          .toList();
    }
  }

  private static List<Path> pages() throws IOException {
    List<Path> pages = new ArrayList<>();
    pages.add(ROOT.resolve("README.md"));
    pages.add(ROOT.resolve("CONTRIBUTING.md"));
    try (Stream<Path> files = Files.walk(ROOT.resolve("docs"))) {
      files
          .filter(file -> file.toString().endsWith(".md"))
          .filter(file -> !name(file).startsWith("docs/journal/"))
          .sorted()
          .forEach(pages::add);
    }
    return pages;
  }
}
