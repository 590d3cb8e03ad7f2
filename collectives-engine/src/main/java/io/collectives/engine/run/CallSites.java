package io.collectives.engine.run;

/** Finds the place in the user's program that makes a call, by a walk of the stack. */
final class CallSites {
  private static final StackWalker WALKER = StackWalker.getInstance();

  /** The packages of the library from which calls are made on behalf of the user. */
  private static final String[] LIBRARY = {
    "io.collectives.engine.", "io.collectives.ps.", "io.collectives.training."
  };

  private CallSites() {}

  /** Returns the method and the line of the innermost caller that is not the library, or "". */
  static String here() {
    return WALKER.walk(
        frames ->
            frames
                .filter(frame -> !isOfLibrary(frame.getClassName()))
                .findFirst()
                .map(
                    frame ->
                        frame.getClassName()
                            + "."
                            + frame.getMethodName()
                            + ":"
                            + frame.getLineNumber())
                .orElse(""));
  }

  private static boolean isOfLibrary(String name) {
    for (String prefix : LIBRARY) {
      if (name.startsWith(prefix)) {
        return true;
      }
    }
    int end = name.lastIndexOf('.');
    return end > 0 && name.substring(0, end).equals("io.collectives");
  }
}
