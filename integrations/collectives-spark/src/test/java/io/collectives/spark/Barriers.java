package io.collectives.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaRDD;
import scala.Function1;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Barrier stages without the library, as programs run them that join by themselves. */
final class Barriers {
  private Barriers() {}

  /** The work of a task. */
  interface Work<T, R> extends Serializable {
    R on(Iterator<T> part) throws Exception;
  }

  /** The work of a task that returns nothing. */
  interface Action<T> extends Serializable {
    void on(Iterator<T> part) throws Exception;
  }

  static <T, R> List<R> map(JavaRDD<T> rows, Work<T, R> work) {
    return new ArrayList<>(mapped(rows, work).collect());
  }

  static <T> JavaFutureAction<Void> foreachAsync(JavaRDD<T> rows, Action<T> action) {
    Work<T, Boolean> work =
        part -> {
          action.on(part);
          return true;
        };
    return mapped(rows, work).foreachAsync(done -> {});
  }

  private static <T, R> JavaRDD<R> mapped(JavaRDD<T> rows, Work<T, R> work) {
    Function1<scala.collection.Iterator<T>, scala.collection.Iterator<R>> task =
        (Function1<scala.collection.Iterator<T>, scala.collection.Iterator<R>> & Serializable)
            part -> CollectionConverters.asScala(List.of(result(work, part)).iterator());
    ClassTag<R> type = ClassTag$.MODULE$.apply(Object.class);
    return JavaRDD.fromRDD(rows.rdd().barrier().mapPartitions(task, false, type), type);
  }

  private static <T, R> R result(Work<T, R> work, scala.collection.Iterator<T> part) {
    try {
      return work.on(CollectionConverters.asJava(part));
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }
}
