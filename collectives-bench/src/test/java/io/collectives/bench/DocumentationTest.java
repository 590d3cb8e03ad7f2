package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Document;

/** The pages of the project lead to what is there, and name what the code reads. */
@Tag("once")
class DocumentationTest {
  private static final Path ROOT = Path.of("..");
  private static final Pattern LINK = Pattern.compile("\\[[^\\]\\[]*]\\(([^()\\s]+)\\)");
  private static final Pattern CODE = Pattern.compile("`[^`]*`");
  private static final Pattern HEADING = Pattern.compile("#{1,6} +(.*)");
  private static final Pattern WORD = Pattern.compile("\\w+");

  /** A word with a capital in it, after the class that it is of, if that is named. */
  private static final Pattern NAME =
      Pattern.compile("`(?:\\w+\\.)*(\\w*[a-z][A-Z]\\w*)(?:\\([^`]*\\))?`");

  /** Of Kubernetes and of Maven. */
  private static final Set<String> NAMES_OF_OTHERS = Set.of("emptyDir", "dependencyManagement");

  private static final Pattern VARIABLE = Pattern.compile("COLLECTIVES(?:_[A-Z]+)+(?![A-Z_])");

  @Test
  void everyRelativeLinkLeadsToAFileAndAHeadingThatAreThere() throws IOException {
    List<String> dead = new ArrayList<>();
    int links = 0;
    for (Path page : pages()) {
      for (String line : prose(page)) {
        Matcher link = LINK.matcher(CODE.matcher(line).replaceAll("`"));
        while (link.find()) {
          String target = link.group(1);
          if (!target.contains("://")) {
            links++;
            if (!isThere(page, target)) {
              dead.add(ROOT.relativize(page) + ": " + target);
            }
          }
        }
      }
    }
    assertEquals(List.of(), dead);
    assertTrue(links > 50, links + " links found");
  }

  @Test
  void theTablesOfVariablesAreThoseOfTheCode() throws IOException {
    SortedSet<String> documented = new TreeSet<>();
    for (String line : Files.readAllLines(ROOT.resolve("docs/RUNNING.md"))) {
      if (line.startsWith("| `COLLECTIVES_")) {
        documented.add(line.substring(3, line.indexOf('`', 3)));
      }
    }
    SortedSet<String> read = new TreeSet<>(variables(ROOT.resolve("bin/collectives")));
    try (Stream<Path> files = Files.walk(ROOT, 20)) {
      List<Path> sources =
          files
              .filter(file -> file.toString().replace('\\', '/').contains("/src/main/"))
              .filter(DocumentationTest::isJava)
              .toList();
      for (Path source : sources) {
        read.addAll(variables(source));
      }
    }
    assertEquals(read, documented);

    SortedSet<String> elsewhere = new TreeSet<>();
    for (Path page : pages()) {
      if (!isOfTheJournal(page)) {
        elsewhere.addAll(variables(page));
      }
    }
    assertEquals(read, elsewhere);
  }

  /** Journal and changelog tell of what was; the other pages of what is. */
  @Test
  void everyNameOfAClassOrMethodIsInTheSources() throws IOException {
    Set<String> words = new HashSet<>(NAMES_OF_OTHERS);
    try (Stream<Path> files = Files.walk(ROOT, 20)) {
      for (Path source : files.filter(DocumentationTest::isJava).toList()) {
        WORD.matcher(Files.readString(source)).results().forEach(word -> words.add(word.group()));
      }
    }
    List<String> unknown = new ArrayList<>();
    int names = 0;
    for (Path page : pages()) {
      if (isOfTheCodeAsItIs(page)) {
        for (String line : prose(page)) {
          for (Matcher code = NAME.matcher(line); code.find(); ) {
            names++;
            if (!words.contains(code.group(1))) {
              unknown.add(ROOT.relativize(page) + ": " + code.group());
            }
          }
        }
      }
    }
    assertEquals(List.of(), unknown);
    assertTrue(names > 300, names + " names found");
  }

  /** Blocks of Java that are no whole program, as the body of a method with the names they use. */
  @Test
  void everyFragmentOfTheGuideCompiles(@TempDir Path directory) throws IOException {
    List<JavaFileObject> sources = new ArrayList<>();
    for (String fragment : fragments(ROOT.resolve("docs/GUIDE.md"))) {
      String name = "Fragment" + sources.size();
      String source =
          "import io.collectives.*; import io.collectives.ps.*; import java.net.URI;"
              + " import java.nio.*; import java.nio.file.Path; import java.time.Duration;"
              + " import java.util.*; class "
              + name
              + " { void run(Communicator world, float[] gradients, float[] weights) {\n"
              + fragment
              + "\n} }";
      sources.add(
          new SimpleJavaFileObject(
              URI.create("string:///" + name + ".java"), JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignoreEncodingErrors) {
              return source;
            }
          });
    }
    assertTrue(sources.size() > 5, sources.size() + " fragments found");
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    DiagnosticCollector<JavaFileObject> diagnostics = new DiagnosticCollector<>();
    List<String> options =
        List.of("-cp", System.getProperty("java.class.path"), "-d", directory.toString());
    assertTrue(
        compiler.getTask(null, null, diagnostics, options, null, sources).call(),
        () -> diagnostics.getDiagnostics().toString());
  }

  @Test
  void everyCommandOfTheGalleryDrawsAPictureOfThePage() throws IOException {
    List<String> lines = Files.readAllLines(ROOT.resolve("docs/GALLERY.md"));
    int commands = 0;
    for (int i = 0; i < lines.size(); i++) {
      if (lines.get(i).startsWith("<!-- figure")) {
        String command =
            lines.stream()
                .skip(i + 2L)
                .takeWhile(line -> !line.equals("```"))
                .map(line -> line.replaceFirst("\\\\$", "").strip())
                .collect(Collectors.joining(" "));
        String start = "bin/collectives ";
        assertTrue(command.startsWith(start), command);
        String[] words = command.substring(start.length()).split(" +");
        Main.commandLine(words).parseArgs(words);
        String picture = command.replaceFirst(".* --chart docs/", "");
        assertTrue(lines.stream().anyMatch(line -> line.endsWith("](" + picture + ")")), command);
        commands++;
      }
    }
    assertTrue(commands > 8, commands + " commands found");
    long pictures = lines.stream().filter(line -> line.startsWith("![")).count();
    assertEquals(pictures, commands);
  }

  /** Pictures whose words are text, with colors for light and for dark pages. */
  @Test
  void everyPictureIsOfTheKindThatCommandsDraw() throws Exception {
    List<Path> pictures;
    try (Stream<Path> files = Files.list(ROOT.resolve("docs/figures"))) {
      pictures = files.sorted().toList();
    }
    for (Path picture : pictures) {
      Document document =
          DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(picture.toFile());
      String name = picture.getFileName().toString();
      assertTrue(document.getElementsByTagName("text").getLength() > 5, name);
      String style = document.getElementsByTagName("style").item(0).getTextContent();
      assertTrue(style.contains("prefers-color-scheme"), name);
    }
    assertTrue(pictures.size() > 10, pictures.size() + " pictures found");
  }

  private static List<Path> pages() throws IOException {
    List<Path> pages = new ArrayList<>();
    for (String name : List.of("README.md", "CONTRIBUTING.md", "CHANGELOG.md")) {
      pages.add(ROOT.resolve(name));
    }
    try (Stream<Path> files = Files.walk(ROOT.resolve("docs"))) {
      files.filter(file -> file.toString().endsWith(".md")).sorted().forEach(pages::add);
    }
    return pages;
  }

  private static boolean isOfTheJournal(Path page) {
    return page.toString().replace('\\', '/').contains("/journal/");
  }

  private static boolean isOfTheCodeAsItIs(Path page) {
    return !isOfTheJournal(page) && !page.endsWith("CHANGELOG.md");
  }

  private static boolean isJava(Path file) {
    return file.toString().endsWith(".java");
  }

  /** The lines of a page outside of fenced blocks. */
  private static List<String> prose(Path page) throws IOException {
    List<String> prose = new ArrayList<>();
    boolean isCode = false;
    for (String line : Files.readAllLines(page)) {
      if (line.strip().startsWith("```")) {
        isCode = !isCode;
      } else if (!isCode) {
        prose.add(line);
      }
    }
    return prose;
  }

  private static boolean isThere(Path page, String target) throws IOException {
    int hash = target.indexOf('#');
    String name = hash < 0 ? target : target.substring(0, hash);
    Path file = name.isEmpty() ? page : page.resolveSibling(name);
    return Files.exists(file) && (hash < 0 || anchors(file).contains(target.substring(hash + 1)));
  }

  /** The anchors of the headings of a page, as GitHub makes them. */
  private static Set<String> anchors(Path page) throws IOException {
    Set<String> anchors = new HashSet<>();
    for (String line : prose(page)) {
      Matcher heading = HEADING.matcher(line);
      if (heading.matches()) {
        String anchor =
            heading
                .group(1)
                .strip()
                .toLowerCase(Locale.ROOT)
                .replaceAll("[^\\p{L}\\p{N} _-]", "")
                .replace(' ', '-');
        String unique = anchor;
        for (int i = 1; !anchors.add(unique); i++) {
          unique = anchor + "-" + i;
        }
      }
    }
    return anchors;
  }

  private static Set<String> variables(Path file) throws IOException {
    Set<String> names = new HashSet<>();
    Matcher matcher = VARIABLE.matcher(Files.readString(file));
    while (matcher.find()) {
      names.add(matcher.group());
    }
    return names;
  }

  private static List<String> fragments(Path page) throws IOException {
    List<String> lines = Files.readAllLines(page);
    List<String> fragments = new ArrayList<>();
    for (int i = 1; i < lines.size(); i++) {
      if (lines.get(i).equals("```java") && !lines.get(i - 1).startsWith("<!-- example:")) {
        List<String> block =
            lines.stream().skip(i + 1L).takeWhile(line -> !line.equals("```")).toList();
        fragments.add(String.join("\n", block));
      }
    }
    return fragments;
  }
}
