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
import java.util.SortedMap;
import java.util.TreeMap;
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

  /**
   * The violations that packages still have. A number may only shrink: the test fails if a package
   * has fewer violations than it is allowed, until the number here is lowered. The aim is an empty
   * map.
   */
  private static final Map<String, Integer> STILL_ALLOWED = Map.of();

  /** The violations that pages still have, under the same rule. */
  private static final Map<String, Integer> PAGES_STILL_ALLOWED = Map.of();

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
      Pattern.compile("\n *\\* [^@\n].*[^\\s{] (@(?:param|return|throws)) ");

  private static final Pattern JAVADOC = Pattern.compile("/\\*\\*(.*?)\\*/", Pattern.DOTALL);

  /** The name before a list of parameters or of arguments. */
  private static final Pattern OPENING = Pattern.compile("(\\w+)(?:<[^<>()]*>)?\\s*\\(");

  /** The declaration of a parameter, which no expression looks like. */
  private static final Pattern PARAMETER =
      Pattern.compile(
          "(?:@\\w+\\s+|final\\s+)*+(?!new\\b)[\\w.]++(?:<.*>)?(?:[\\s@\\w\\[\\]]|\\.{3})*\\s\\w+",
          Pattern.DOTALL);

  private static final Pattern PACKAGE = Pattern.compile("\\bpackage\\s+([\\w.]+)\\s*;");

  @Test
  void sourcesKeepTheRules() throws IOException {
    SortedMap<String, List<String>> found = new TreeMap<>();
    int files = 0;
    for (Path file : javaFiles()) {
      files++;
      String text = Files.readString(file);
      Matcher name = PACKAGE.matcher(text);
      String in = name.find() ? name.group(1) : name(file.getParent());
      check(file, text, (line, what) -> add(found, in, place(file, line) + what));
    }
    assertAllowed(found, STILL_ALLOWED);
    assertTrue(files > 500, files + " files found");
  }

  @Test
  void pagesKeepTheRules() throws IOException {
    SortedMap<String, List<String>> found = new TreeMap<>();
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
          add(found, name(page), place(page, i + 1) + what);
        }
      }
    }
    checkSize(found, "README.md", README_LINES, "lines", "docs/");
    checkSize(found, "docs/PERFORMANCE.md", PERFORMANCE_WORDS, "words", "docs/journal/");
    assertAllowed(found, PAGES_STILL_ALLOWED);
  }

  private static void checkSize(
      Map<String, List<String>> found, String page, int most, String unit, String elsewhere)
      throws IOException {
    String separator = unit.equals("words") ? "\\s+" : "\n";
    int size = Files.readString(ROOT.resolve(page)).strip().split(separator).length;
    if (size > most) {
      String what =
          String.format("%d %s, %d are allowed: move text to %s", size, unit, most, elsewhere);
      add(found, page, page + ":1: " + what);
    }
  }

  private static void add(Map<String, List<String>> found, String in, String violation) {
    found.computeIfAbsent(in, key -> new ArrayList<>()).add(violation);
  }

  /** Fails if something has more violations than it is allowed, or fewer. */
  private static void assertAllowed(
      Map<String, List<String>> found, Map<String, Integer> stillAllowed) {
    List<String> failures = new ArrayList<>();
    stillAllowed.forEach(
        (in, allowed) -> {
          int count = found.getOrDefault(in, List.of()).size();
          if (count < allowed) {
            failures.add(
                String.format(
                    "%s: %d violations are left, %d are allowed: lower the number in StyleTest",
                    in, count, allowed));
          }
        });
    found.forEach(
        (in, violations) -> {
          int allowed = stillAllowed.getOrDefault(in, 0);
          if (violations.size() > allowed) {
            failures.add(in + ": " + violations.size() + " violations, " + allowed + " allowed:");
            failures.addAll(violations);
          }
        });
    assertTrue(failures.isEmpty(), () -> String.join("\n", failures));
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
    try (Stream<Path> entries = Files.list(ROOT)) {
      return entries
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
