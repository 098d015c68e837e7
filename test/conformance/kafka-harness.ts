import type { Runtime } from '@waybill/core'
import type { KafkaTransport } from '@waybill/kafka/wire'
import type { Capabilities, Harness, Suite } from '@waybill/testkit/internal'

/**
 * An optional capability of a cluster.
 *
 * - SEVERAL_BROKERS: it has at least three nodes, so that a request can reach the wrong one.
 * - FIRST_OFFSET: a topic can begin at any offset, including offsets above 2^53.
 * - COMPACTION: a test can compact a partition.
 */
export type KafkaCapability = 'SEVERAL_BROKERS' | 'FIRST_OFFSET' | 'COMPACTION'

/** The state of each capability. */
export type KafkaCapabilities = Capabilities<KafkaCapability>

/** A cluster for one test. */
export interface ClusterUnderTest {
  /** Some of its nodes, as `host:port`. */
  readonly brokers: readonly string[]
  readonly transport: KafkaTransport
  /** The runtime of the cluster. Tests wait on no other clock. */
  readonly runtime: Runtime
  /** Returns a name for a topic, group or transactional id that no other test uses. */
  named(name: string): string
  /** Creates a topic of one partition that begins at an offset; resolves when it is ready. With FIRST_OFFSET. */
  createTopicAt?(name: string, firstOffset: bigint): Promise<void>
  /** Compacts a partition now. With COMPACTION. */
  compact?(topic: string, partition: number): Promise<void>
}

/** Gives a suite clusters to test. The harness deletes the topics and groups that a test leaves behind. */
export type KafkaHarness = Harness<ClusterUnderTest, KafkaCapability>

/** A suite whose tests run on a cluster. */
export type KafkaSuite<Scene> = Suite<Scene, KafkaCapability>
