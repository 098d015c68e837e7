package peers;

import io.confluent.parallelconsumer.ParallelConsumerOptions;
import io.confluent.parallelconsumer.ParallelConsumerOptions.ProcessingOrder;
import io.confluent.parallelconsumer.ParallelStreamProcessor;
import java.time.Duration;
import java.util.List;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/** Confluent's parallel consumer: one handler for each key at a time, up to `concurrency` of them, each sleeping. */
final class ParallelConsume {
  static void run() throws InterruptedException {
    int handlerMs = Main.number("handlerMs");
    var countdown = new Countdown(Main.number("count"));
    var properties = Main.consumerProperties();
    properties.put("group.id", Main.group());
    var options = ParallelConsumerOptions.<byte[], byte[]>builder()
        .consumer(new KafkaConsumer<>(properties))
        .ordering(ProcessingOrder.KEY)
        .maxConcurrency(Main.number("concurrency"))
        // It looks into the consumer to see that it does not commit by itself, which newer Java does not allow.
        .ignoreReflectiveAccessExceptionsForAutoCommitDisabledCheck(true)
        .build();
    var processor = ParallelStreamProcessor.createEosStreamProcessor(options);
    processor.subscribe(List.of(Main.text("topic")));
    processor.poll(context -> {
      countdown.begin();
      sleep(handlerMs);
      countdown.done();
    });
    countdown.await();
    processor.closeDontDrainFirst(Duration.ofSeconds(5));
  }

  private static void sleep(int ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }
}
