package peers;

import io.confluent.parallelconsumer.ParallelConsumerOptions;
import io.confluent.parallelconsumer.ParallelConsumerOptions.ProcessingOrder;
import io.confluent.parallelconsumer.ParallelStreamProcessor;
import io.confluent.parallelconsumer.internal.DrainingCloseable.DrainingMode;
import io.confluent.parallelconsumer.reactor.ReactorProcessor;
import java.time.Duration;
import java.util.List;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import reactor.core.publisher.Mono;

/** Confluent's parallel consumer: one handler for each key at a time, up to `concurrency` of them, each for `handlerMs`. */
final class ParallelConsume {
  private static final Duration closing = Duration.ofSeconds(10);

  /** Each handler sleeps in a thread of its own. */
  static void onThreads(Pass pass) throws InterruptedException {
    int handlerMs = Main.number("handlerMs");
    var consumer = consumerOf(pass);
    var processor = ParallelStreamProcessor.createEosStreamProcessor(optionsFor(consumer));
    processor.subscribe(List.of(pass.topic));
    processor.poll(context -> {
      var record = context.getSingleConsumerRecord();
      pass.readShared(record);
      sleep(handlerMs);
      pass.doneShared(record);
    });
    pass.await();
    pass.countCommits(consumer.metrics());
    processor.close(closing, DrainingMode.DRAIN);
  }

  /** Handlers wait on a timer of Project Reactor, without threads of their own. */
  static void onReactor(Pass pass) throws InterruptedException {
    var handlerTime = Duration.ofMillis(Main.number("handlerMs"));
    var consumer = consumerOf(pass);
    var processor = new ReactorProcessor<byte[], byte[]>(optionsFor(consumer));
    processor.subscribe(List.of(pass.topic));
    processor.react(context -> {
      var record = context.getSingleConsumerRecord();
      pass.readShared(record);
      return Mono.delay(handlerTime).doOnNext(tick -> pass.doneShared(record));
    });
    pass.await();
    pass.countCommits(consumer.metrics());
    processor.close(closing, DrainingMode.DRAIN);
  }

  private static KafkaConsumer<byte[], byte[]> consumerOf(Pass pass) {
    var properties = Main.consumerProperties();
    properties.put("group.id", pass.group);
    return new KafkaConsumer<>(properties);
  }

  private static ParallelConsumerOptions<byte[], byte[]> optionsFor(KafkaConsumer<byte[], byte[]> consumer) {
    return ParallelConsumerOptions.<byte[], byte[]>builder()
        .consumer(consumer)
        .ordering(ProcessingOrder.KEY)
        .maxConcurrency(Main.number("concurrency"))
        // It looks into the consumer to see that it does not commit by itself, which newer Java does not allow.
        .ignoreReflectiveAccessExceptionsForAutoCommitDisabledCheck(true)
        .build();
  }

  private static void sleep(int ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }
}
