package peers;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/** A group in one process, which one more member joins and leaves again. */
final class Moves {
  private static final Map<TopicPartition, Long> releasedAt = new ConcurrentHashMap<>();
  private static final String group = Main.group();

  static void run() throws Exception {
    List<Member> stay = new ArrayList<>();
    for (int index = 1; index < Main.number("members"); index++) stay.add(new Member());
    awaitShared(stay);
    List<Double> owningMs = new ArrayList<>();
    List<Double> ownerlessMs = new ArrayList<>();
    for (var quietMs : Main.text("quietMs").split(",")) {
      Thread.sleep(Long.parseLong(quietMs));
      releasedAt.clear();
      long startedAt = System.nanoTime();
      var newcomer = new Member();
      while (newcomer.owned == 0) Thread.sleep(1);
      owningMs.add((System.nanoTime() - startedAt) / 1e6);
      ownerlessMs.add(newcomer.ownerlessNanos / 1e6);
      Thread.sleep(1000);
      newcomer.stop();
      awaitShared(stay);
    }
    System.out.printf(Locale.ROOT, "{\"owningMs\":%s,\"ownerlessMs\":%s}%n", owningMs, ownerlessMs);
  }

  private static void awaitShared(List<Member> stay) throws InterruptedException {
    for (;;) {
      int[] owned = stay.stream().mapToInt(member -> member.owned).toArray();
      boolean isShared = Arrays.stream(owned).allMatch(count -> count > 0);
      if (isShared && Arrays.stream(owned).sum() == Main.number("partitions")) return;
      Thread.sleep(1);
    }
  }

  /** Polls in a thread of its own until it is stopped. */
  private static final class Member implements ConsumerRebalanceListener {
    volatile int owned;
    volatile long ownerlessNanos;
    private volatile boolean isOver;
    private final Thread thread = new Thread(this::poll);

    Member() {
      thread.setDaemon(true);
      thread.start();
    }

    void stop() throws InterruptedException {
      isOver = true;
      thread.join();
    }

    private void poll() {
      var properties = Main.consumerProperties();
      properties.put("group.id", group);
      properties.put("group.protocol", Main.text("protocol"));
      if (Main.text("protocol").equals("classic")) {
        properties.put("partition.assignment.strategy", CooperativeStickyAssignor.class.getName());
        properties.put("heartbeat.interval.ms", Main.text("heartbeatIntervalMs"));
      }
      try (var consumer = new KafkaConsumer<byte[], byte[]>(properties)) {
        consumer.subscribe(List.of(Main.text("topic")), this);
        while (!isOver) consumer.poll(Duration.ofMillis(200));
      }
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
      if (revoked.isEmpty()) return;
      try {
        if (!isOver) Thread.sleep(Main.number("drainMs"));
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
      }
      for (var partition : revoked) releasedAt.put(partition, System.nanoTime());
      owned -= revoked.size();
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
      for (var partition : assigned) {
        Long since = releasedAt.get(partition);
        if (since != null) ownerlessNanos = Math.max(ownerlessNanos, System.nanoTime() - since);
      }
      owned += assigned.size();
    }
  }
}
