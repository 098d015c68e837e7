package peers;

import java.nio.charset.StandardCharsets;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;

/** The same records as payloads.ts makes. */
final class Payloads {
  private static final String text = "{\"type\":\"order.created\",\"customer\":\"customer-42\",\"status\":\"pending\"}";
  private static final byte[][] keys = new byte[10_000][];
  private final byte[][] values = new byte[1_024][];

  static {
    for (int index = 0; index < keys.length; index++) keys[index] = ascii(String.format("key-%06d", index));
  }

  Payloads(int bytes) {
    int state = 123_456_789;
    for (int index = 0; index < values.length; index++) {
      var value = new StringBuilder(bytes + 8);
      while (value.length() < bytes) {
        if (value.length() % 96 < 32) {
          state ^= state << 13;
          state ^= state >>> 17;
          state ^= state << 5;
          value.append(String.format("%08x", state));
        } else {
          value.append(text.charAt(value.length() % text.length()));
        }
      }
      values[index] = ascii(value.substring(0, bytes));
    }
  }

  ProducerRecord<byte[], byte[]> record(String topic, int index) {
    return record(topic, index, values[index & 1_023]);
  }

  static ProducerRecord<byte[], byte[]> record(String topic, int index, byte[] value) {
    var headers = new RecordHeaders();
    headers.add("traceparent", ascii("0af7651916cd43dd8448eb211c80319c"));
    headers.add("content-type", ascii("application/json"));
    headers.add("event-type", ascii("order.created"));
    return new ProducerRecord<>(topic, null, null, keys[(int) (index * 7_919L % keys.length)], value, headers);
  }

  private static byte[] ascii(String value) {
    return value.getBytes(StandardCharsets.US_ASCII);
  }
}
