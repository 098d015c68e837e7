import { systemRuntime } from '@waybill/core'
import { createBrokerTransport } from '@waybill/kafka/wire'
import type { KafkaCapabilities, KafkaHarness } from './kafka-harness.ts'

/** A real Kafka and its unique names. Read when a test runs. */
export interface RealKafka {
  readonly bootstrap: readonly string[]
  named(name: string): string
}

/** Returns a harness of Apache Kafka. Every test has its own names, and the place deletes what tests leave behind. */
export function realHarness(
  name: string,
  kafka: RealKafka,
  severalBrokers: KafkaCapabilities['SEVERAL_BROKERS'],
): KafkaHarness {
  const transport = createBrokerTransport()
  let tests = 0
  return {
    name,
    capabilities: {
      SEVERAL_BROKERS: severalBrokers,
      FIRST_OFFSET: { absent: 'a broker begins every log at 0' },
      COMPACTION: { absent: 'the log cleaner decides for itself when it runs' },
    },
    run: (test) => {
      const prefix = `${++tests}.`
      return test({
        brokers: kafka.bootstrap,
        transport,
        runtime: systemRuntime,
        named: (plain) => kafka.named(prefix + plain),
      })
    },
  }
}
