package peers;

import java.time.Duration;
import java.util.List;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/** Reads a filled topic from the beginning as a member of a group, without committing. */
final class Consume {
  static void run(Pass pass) throws InterruptedException {
    var properties = Main.consumerProperties();
    properties.put("group.id", pass.group);
    properties.put("max.poll.records", Main.text("poll"));
    try (var consumer = new KafkaConsumer<byte[], byte[]>(properties)) {
      consumer.subscribe(List.of(pass.topic));
      while (!pass.isDone()) {
        for (var record : consumer.poll(Duration.ofSeconds(1))) {
          pass.read(record);
          pass.done(record);
        }
      }
      pass.await();
    }
  }
}
