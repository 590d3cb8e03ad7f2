package io.collectives.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("once")
class NettyClassesTest {
  @Test
  void theNettyOfThisModuleIsNewEnough() {
    NettyClasses.check(JobSettings.of(0, 1));
  }

  @ParameterizedTest
  @ValueSource(classes = {TcpTransportProvider.class, UnixTransportProvider.class})
  void anOldNettyIsNamed(Class<?> provider) throws Exception {
    try (URLClassLoader old = new OldNetty()) {
      Class<?> settings = old.loadClass(JobSettings.class.getName());
      Object job = settings.getMethod("of", int.class, int.class).invoke(null, 1, 2);
      Object listens = old.loadClass(provider.getName()).getConstructor().newInstance();
      Throwable e =
          assertThrows(
                  InvocationTargetException.class,
                  () -> listens.getClass().getMethod("listen", settings).invoke(listens, job))
              .getCause();
      assertEquals(JoinException.class.getName(), e.getClass().getName(), e.toString());
      assertTrue(e.getMessage().contains("rank 1 cannot listen"), e.getMessage());
      assertTrue(e.getMessage().contains("lacks io.netty.channel.IoEventLoop"), e.getMessage());
      assertNotNull(e.getCause());
    }
  }

  /** The class path of this test, with a Netty that lacks what is new in 4.2. */
  private static final class OldNetty extends URLClassLoader {
    OldNetty() throws Exception {
      super(classPath(), ClassLoader.getPlatformClassLoader());
    }

    private static URL[] classPath() throws Exception {
      String path =
          System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
      List<URL> urls = new ArrayList<>();
      for (String entry : path.split(File.pathSeparator)) {
        urls.add(Path.of(entry).toUri().toURL());
      }
      return urls.toArray(URL[]::new);
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      if (name.startsWith("io.netty.channel.IoEventLoop")) {
        throw new ClassNotFoundException(name);
      }
      return super.findClass(name);
    }
  }
}
