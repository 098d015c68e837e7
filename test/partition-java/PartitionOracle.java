import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.utils.Utils;

/**
 * Answers what Kafka's own Java client does with a key. Arguments are partition counts; each line of the input is a key
 * in hexadecimal; each line of the output is its murmur2 hash, then its partition for every count.
 */
public class PartitionOracle {
  public static void main(String[] counts) throws Exception {
    var keys = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    var answers = new StringBuilder();
    for (String line = keys.readLine(); line != null; line = keys.readLine()) {
      byte[] key = bytesOf(line);
      answers.append(Utils.murmur2(key));
      for (String count : counts) {
        answers.append(' ').append(BuiltInPartitioner.partitionForKey(key, Integer.parseInt(count)));
      }
      answers.append('\n');
    }
    System.out.print(answers);
  }

  private static byte[] bytesOf(String hex) {
    byte[] bytes = new byte[hex.length() / 2];
    for (int index = 0; index < bytes.length; index++) {
      bytes[index] = (byte) Integer.parseInt(hex.substring(2 * index, 2 * index + 2), 16);
    }
    return bytes;
  }
}
