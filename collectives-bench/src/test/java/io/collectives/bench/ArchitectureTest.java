package io.collectives.bench;

import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.assignableTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.belongTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.equivalentTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.name;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.conditions.ArchConditions.callConstructor;
import static com.tngtech.archunit.lang.conditions.ArchConditions.callMethod;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.core.importer.Location;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTag;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import io.collectives.internal.Log;
import io.collectives.plan.Chunks;
import io.collectives.spi.AlgorithmSpec;
import io.collectives.spi.PlanProvider;
import io.netty.bootstrap.AbstractBootstrap;
import io.netty.channel.ChannelOutboundInvoker;
import java.io.ObjectInput;
import java.io.ObjectOutput;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.channels.NetworkChannel;
import javax.net.ServerSocketFactory;

/** Modules and packages of the library know only those that they may know. */
@ArchTag("once")
@AnalyzeClasses(
    packages = "io.collectives",
    importOptions = {ImportOption.DoNotIncludeTests.class, ArchitectureTest.Library.class})
class ArchitectureTest {
  /** Leaves out the commands, which may know all. */
  static final class Library implements ImportOption {
    @Override
    public boolean includes(Location location) {
      return !location.contains("/io/collectives/bench/");
    }
  }

  @ArchTest
  static final ArchRule PLANS_KNOW_NO_BYTES_AND_NO_TRANSPORTS =
      classes()
          .that()
          .resideInAPackage("io.collectives.plan")
          .should()
          .onlyDependOnClassesThat(
              resideInAnyPackage(
                  "io.collectives",
                  "io.collectives.plan",
                  "java.lang..",
                  "java.util..",
                  "org.jspecify.."));

  @ArchTest
  static final ArchRule ALGORITHMS_KNOW_PLANS_ONLY =
      classes()
          .that()
          .resideInAnyPackage("io.collectives.torus..", "io.collectives.ps")
          .should()
          .onlyDependOnClassesThat(
              resideInAnyPackage(
                      "io.collectives",
                      "io.collectives.plan",
                      "io.collectives.torus..",
                      "io.collectives.ps..",
                      "java.lang..",
                      "java.util..",
                      "org.jspecify..")
                  .or(equivalentTo(PlanProvider.class))
                  .or(belongTo(equivalentTo(AlgorithmSpec.class))));

  @ArchTest
  static final ArchRule PARAMETER_STORES_KNOW_COMMUNICATORS_AND_FILES =
      classes()
          .that()
          .resideInAPackage("io.collectives.ps.store..")
          .should()
          .onlyDependOnClassesThat(
              resideInAnyPackage(
                      "io.collectives",
                      "io.collectives.ps",
                      "io.collectives.ps.store",
                      "io.collectives.training.optimizer",
                      "java.io",
                      "java.lang..",
                      "java.nio",
                      "java.nio.charset",
                      "java.nio.file..",
                      "java.time",
                      "java.util..",
                      "org.jspecify..")
                  .or(equivalentTo(Chunks.class))
                  .or(equivalentTo(FileChannel.class)));

  @ArchTest
  static final ArchRule TRAINING_KNOWS_COMMUNICATORS_AND_FILES =
      classes()
          .that()
          .resideInAPackage("io.collectives.training..")
          .should()
          .onlyDependOnClassesThat(
              resideInAnyPackage(
                  "io.collectives",
                  "io.collectives.training..",
                  "java.io",
                  "java.lang..",
                  "java.nio",
                  "java.nio.channels",
                  "java.nio.file..",
                  "java.time",
                  "java.util..",
                  "org.jspecify.."));

  @ArchTest
  static final ArchRule OPTIMIZERS_ARE_ARITHMETIC =
      classes()
          .that()
          .resideInAnyPackage(
              "io.collectives.training.optimizer..", "io.collectives.training.exact..")
          .should()
          .onlyDependOnClassesThat(
              resideInAnyPackage(
                  "io.collectives.training.optimizer",
                  "io.collectives.training.exact",
                  "java.lang..",
                  "java.util..",
                  "org.jspecify.."));

  @ArchTest
  static final ArchRule ALGORITHMS_DO_NOT_KNOW_EACH_OTHER =
      noClasses()
          .that()
          .resideInAPackage("io.collectives.torus..")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("io.collectives.ps..");

  @ArchTest
  static final ArchRule TRANSPORTS_KNOW_NO_PLANS_AND_NO_ELEMENTS =
      noClasses()
          .that()
          .resideInAnyPackage(
              "io.collectives.netty..",
              "io.collectives.engine.inprocess..",
              "io.collectives.engine.sharedmemory..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "io.collectives.plan..",
              "io.collectives.torus..",
              "io.collectives.ps..",
              "io.collectives.engine.run..",
              "io.collectives.engine.memory..");

  @ArchTest
  static final ArchRule THE_ENGINE_KNOWS_NO_NETTY_AND_NO_ALGORITHM =
      noClasses()
          .that()
          .resideInAPackage("io.collectives.engine..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "io.netty..",
              "io.collectives.netty..",
              "io.collectives.torus..",
              "io.collectives.ps..");

  @ArchTest
  static final ArchRule THE_STATE_MACHINE_STARTS_NO_THREAD =
      noClasses()
          .that()
          .resideInAPackage("io.collectives.engine.run..")
          .should()
          .dependOnClassesThat()
          .areAssignableTo(Thread.class);

  @ArchTest
  static final ArchRule THE_ENGINE_HAS_LAYERS =
      classes()
          .that()
          .resideInAPackage("io.collectives.engine.run")
          .and()
          .doNotHaveSimpleName("package-info")
          .should(
              Layers.fromBelow(
                      "program",
                      "AddOrder",
                      "CallSites",
                      "Contributions",
                      "FusedOwners",
                      "Program",
                      "ProgramCompiler")
                  .then(
                      "call",
                      "CallOptions",
                      "CallRun",
                      "Finding",
                      "Landing",
                      "Stage",
                      "LaneRun",
                      "Layout",
                      "SlabRun")
                  .then(
                      "frame",
                      "ExchangeBuffers",
                      "ExchangeView",
                      "LeasedFrame",
                      "FiniteCheck",
                      "FrameApplier",
                      "HeldFrame",
                      "HeldFrames",
                      "OutFrame",
                      "Target",
                      "View")
                  .then(
                      "group",
                      "Call",
                      "CallTally",
                      "Calls",
                      "ClosedGroups",
                      "Failure",
                      "FlightRecorder",
                      "Group",
                      "Inbound",
                      "InlineChannel",
                      "InlineChannels",
                      "RankReport",
                      "TraceLog",
                      "Traffic",
                      "Waiting")
                  .then(
                      "failure",
                      "Agreement",
                      "Ballot",
                      "Breaker",
                      "Consensus",
                      "ControlMessages",
                      "EarlyNotices",
                      "Failures",
                      "FrameErrors",
                      "Lateness",
                      "Liveness",
                      "Notices",
                      "Verdict")
                  .then(
                      "run",
                      "Arrivals",
                      "Engine",
                      "InlineExchanges",
                      "Sender",
                      "Service",
                      "Turns"));

  @ArchTest
  static final ArchRule THE_ENGINE_KNOWS_NO_COMMUNICATOR_AND_NO_TRANSPORT =
      noClasses()
          .that()
          .resideInAPackage("io.collectives.engine.run")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "io.collectives.engine",
              "io.collectives.engine.auto..",
              "io.collectives.engine.inprocess..",
              "io.collectives.engine.join..",
              "io.collectives.engine.sharedmemory..");

  @ArchTest static final ArchRule FEW_CLASSES_FORM_A_CIRCLE = classes().should(Circles.ofAtMost(5));

  @ArchTest
  static final ArchRule MEMORY_KNOWS_NO_PLANS =
      noClasses()
          .that()
          .resideInAPackage("io.collectives.engine.memory..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("io.collectives.plan..", "io.collectives.engine.run..");

  @ArchTest
  static final ArchRule WARNINGS_ARE_SEEN_WITHOUT_A_PROVIDER =
      noClasses()
          .that()
          .doNotHaveFullyQualifiedName(Log.class.getName())
          .should()
          .dependOnClassesThat()
          .resideInAPackage("org.slf4j..");

  @ArchTest
  static final ArchRule NOBODY_DESERIALIZES_JAVA_OBJECTS =
      noClasses()
          .should()
          .dependOnClassesThat()
          .areAssignableTo(ObjectInput.class)
          .orShould()
          .dependOnClassesThat()
          .areAssignableTo(ObjectOutput.class)
          .orShould()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "java.rmi..", "java.beans..", "io.netty.handler.codec.serialization..");

  @ArchTest
  static final ArchRule NOBODY_BINDS_TO_EVERY_ADDRESS =
      noClasses()
          .should(callConstructor(InetSocketAddress.class, int.class))
          .orShould(callConstructor(ServerSocket.class, int.class))
          .orShould(callConstructor(ServerSocket.class, int.class, int.class))
          .orShould(callConstructor(DatagramSocket.class))
          .orShould(callConstructor(DatagramSocket.class, int.class))
          .orShould(callMethod(ServerSocketFactory.class, "createServerSocket", int.class))
          .orShould(callMethod(AbstractBootstrap.class, "bind", int.class));

  @ArchTest
  static final ArchRule ONLY_LISTENERS_BIND =
      noClasses()
          .that()
          .doNotHaveFullyQualifiedName("io.collectives.netty.Listening")
          .and()
          .doNotHaveFullyQualifiedName("io.collectives.netty.RendezvousSockets")
          .and()
          .doNotHaveFullyQualifiedName(
              "io.collectives.engine.sharedmemory.SharedMemoryTransportProvider$RankEndpoint")
          .and()
          .doNotHaveFullyQualifiedName("io.collectives.engine.status.StatusServer")
          .should()
          .callMethodWhere(
              target(name("bind"))
                  .and(
                      target(
                          owner(
                              assignableTo(NetworkChannel.class)
                                  .or(assignableTo(ServerSocket.class))
                                  .or(assignableTo(ChannelOutboundInvoker.class))
                                  .or(assignableTo(AbstractBootstrap.class))))));

  @ArchTest
  static final ArchRule NOBODY_ENDS_THE_PROCESS_OR_PRINTS =
      noClasses()
          .should(callMethod(System.class, "exit", int.class))
          .orShould(callMethod(Runtime.class, "halt", int.class))
          .orShould(callMethod(Runtime.class, "addShutdownHook", Thread.class))
          .orShould()
          .accessField(System.class, "out");

  @ArchTest
  static final ArchRule NOBODY_BUT_THE_LOG_WRITES_TO_STANDARD_ERROR =
      noClasses()
          .that()
          .doNotHaveFullyQualifiedName(Log.class.getName())
          .should()
          .accessField(System.class, "err");

  @ArchTest static final ArchRule NO_STATIC_STATE = fields().that().areStatic().should().beFinal();
}
