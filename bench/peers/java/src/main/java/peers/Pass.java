package peers;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicPartition;

/** One pass over a filled topic, with a group of its own: time, CPU, and the evidence that each record was handled once. */
final class Pass {
  final String topic;
  final String group = Main.group();
  private final int number;
  private final Reads reads;
  private final int count = Main.number("count");
  /** The handler calls of each record, by the number in its value. */
  private final byte[] calls = new byte[count];
  private final Part[] parts;
  private final CountDownLatch open;
  private final Meter meter;
  private double commits;

  /** The records of one partition. Its fields belong to the thread that handles it. */
  private static final class Part {
    private final long count;
    private long handled;
    private long bytes;
    private long done;

    Part(long count) {
      this.count = count;
    }
  }

  /** A task of several passes. */
  interface Work {
    void run(Pass pass) throws Exception;
  }

  private Pass(int number, String topic, Reads reads) {
    this.number = number;
    this.topic = topic;
    this.reads = reads;
    var ends = endsOf(topic);
    parts = new Part[ends.size()];
    ends.forEach((partition, end) -> parts[partition.partition()] = new Part(end));
    open = new CountDownLatch((int) ends.values().stream().filter(end -> end > 0).count());
    meter = new Meter();
  }

  /** Runs the work on each of `topics`, and prints what it took. */
  static void runAll(Work work) throws Exception {
    var reads = Reads.valueOf(Main.text("reads"));
    int number = 0;
    for (var topic : Main.text("topics").split(",")) {
      var pass = new Pass(number++, topic, reads);
      work.run(pass);
      pass.print();
    }
  }

  private static Map<TopicPartition, Long> endsOf(String topic) {
    try (var consumer = new KafkaConsumer<byte[], byte[]>(Main.consumerProperties())) {
      var partitions = consumer.partitionsFor(topic).stream().map(one -> new TopicPartition(topic, one.partition())).toList();
      return new HashMap<>(consumer.endOffsets(partitions));
    }
  }

  /** Reads a record, on the thread of its partition. */
  void read(ConsumerRecord<byte[], byte[]> record) {
    meter.first();
    var part = parts[record.partition()];
    part.handled++;
    if (reads == Reads.NOTHING) return;
    part.bytes += reads.sizeOf(record);
    calls[Reads.numberIn(record.value())]++;
  }

  /** Counts a record that needs nothing more, on the thread of its partition. */
  void done(ConsumerRecord<?, ?> record) {
    done(record.partition());
  }

  private void done(int partition) {
    var part = parts[partition];
    if (++part.done == part.count) open.countDown();
  }

  /** Reads a record on any thread. */
  void readShared(ConsumerRecord<byte[], byte[]> record) {
    synchronized (parts[record.partition()]) {
      read(record);
    }
  }

  /** Counts a record that needs nothing more, on any thread. */
  void doneShared(ConsumerRecord<?, ?> record) {
    synchronized (parts[record.partition()]) {
      done(record);
    }
  }

  boolean isDone() {
    return open.getCount() == 0;
  }

  /** Waits for the last record, or fails: a part of the work is no result. */
  void await() throws InterruptedException {
    int seconds = Main.number("wait");
    if (!open.await(seconds, TimeUnit.SECONDS)) {
      throw new IllegalStateException(open.getCount() + " partitions are not done after " + seconds + " s");
    }
    meter.stop();
  }

  /** Adds the commits of a consumer so far. */
  void countCommits(Map<MetricName, ? extends Metric> metrics) {
    metrics.forEach((name, metric) -> {
      if (name.name().equals("commit-total")) commits += (double) metric.metricValue();
    });
  }

  private void print() {
    long handled = 0;
    long bytes = 0;
    for (var part : parts) {
      handled += part.handled;
      bytes += part.bytes;
    }
    int distinct = 0;
    for (var times : calls) if (times > 0) distinct++;
    System.out.printf(
        Locale.ROOT,
        "{\"pass\":%d,\"topic\":\"%s\",\"groupId\":\"%s\",\"records\":%d,\"handled\":%d,\"distinct\":%d,\"bytes\":%d,\"commits\":%.0f,%s}%n",
        number, topic, group, count, handled, distinct, bytes, commits, meter.fields());
  }
}
