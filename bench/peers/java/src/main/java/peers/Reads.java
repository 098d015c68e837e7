package peers;

import org.apache.kafka.clients.consumer.ConsumerRecord;

/** The fields of a record that a handler reads. */
enum Reads {
  NOTHING,
  KEY_VALUE,
  ALL;

  /** Reads them, and returns their size in bytes. */
  int sizeOf(ConsumerRecord<byte[], byte[]> record) {
    if (this == NOTHING) return 0;
    int bytes = record.key().length + record.value().length;
    if (this == KEY_VALUE) return bytes;
    for (var header : record.headers()) bytes += header.key().length() + header.value().length;
    return bytes;
  }

  /** Returns the number at the start of a value, which no other record of the topic has. */
  static int numberIn(byte[] value) {
    return (value[0] & 255) << 24 | (value[1] & 255) << 16 | (value[2] & 255) << 8 | value[3] & 255;
  }
}
