package peers;

import java.time.Duration;
import java.util.List;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/** Reads a filled topic from the beginning as a member of a group, without committing. */
final class Consume {
  static void run() {
    var properties = Main.consumerProperties();
    properties.put("group.id", Main.group());
    properties.put("max.poll.records", "5000");
    int count = Main.number("count");
    try (var consumer = new KafkaConsumer<byte[], byte[]>(properties)) {
      consumer.subscribe(List.of(Main.text("topic")));
      var meter = new Meter();
      long seen = 0;
      long bytes = 0;
      while (seen < count) {
        var records = consumer.poll(Duration.ofSeconds(1));
        if (!records.isEmpty()) meter.first();
        for (var record : records) {
          seen++;
          bytes += record.value().length;
        }
      }
      if (bytes == 0) throw new IllegalStateException("Nothing was read");
      meter.print(seen);
    }
  }
}
