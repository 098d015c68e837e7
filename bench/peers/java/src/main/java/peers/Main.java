package peers;

import java.util.HashMap;
import java.util.Map;

/** One task of the benchmark with a Java peer: the task, then name=value. Prints a JSON object for each pass. */
public final class Main {
  private static final Map<String, String> arguments = new HashMap<>();

  static String text(String name) {
    return arguments.get(name);
  }

  static int number(String name) {
    return Integer.parseInt(arguments.get(name));
  }

  static Map<String, Object> clientProperties() {
    var bytes = "org.apache.kafka.common.serialization.ByteArray";
    Map<String, Object> properties = new HashMap<>();
    var bootstrap = System.getenv("KAFKA_BOOTSTRAP");
    properties.put("bootstrap.servers", bootstrap == null ? "127.0.0.1:9092" : bootstrap);
    properties.put("key.serializer", bytes + "Serializer");
    properties.put("value.serializer", bytes + "Serializer");
    properties.put("key.deserializer", bytes + "Deserializer");
    properties.put("value.deserializer", bytes + "Deserializer");
    return properties;
  }

  static Map<String, Object> consumerProperties() {
    var properties = clientProperties();
    properties.put("enable.auto.commit", "false");
    properties.put("auto.offset.reset", "earliest");
    return properties;
  }

  /** Acknowledged by all replicas and idempotent, as the client is by itself; without linger. */
  static Map<String, Object> promptProducerProperties() {
    var properties = clientProperties();
    properties.put("linger.ms", "0");
    return properties;
  }

  /** Returns a group id that was never used. */
  static String group() {
    return "bench-" + ProcessHandle.current().pid() + "-" + System.nanoTime();
  }

  public static void main(String[] args) throws Exception {
    for (int index = 1; index < args.length; index++) {
      var pair = args[index].split("=", 2);
      arguments.put(pair[0], pair[1]);
    }
    switch (args[0]) {
      case "consume" -> Pass.runAll(Consume::run);
      case "produce" -> Produce.run();
      case "latency" -> Latency.run();
      case "moves" -> Moves.run();
      case "spring-r4j" -> Pass.runAll(SpringListen::withResilience4j);
      case "spring-manual-immediate" -> Pass.runAll(SpringListen::manualImmediate);
      case "spring-tiers" -> Pass.runAll(SpringTiers::run);
      case "spring-dlt" -> Pass.runAll(SpringDeadLetter::run);
      case "parallel-consumer" -> Pass.runAll(ParallelConsume::onThreads);
      case "parallel-consumer-reactor" -> Pass.runAll(ParallelConsume::onReactor);
      default -> throw new IllegalArgumentException("No task " + args[0]);
    }
    System.exit(0);
  }
}
