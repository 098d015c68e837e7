import type { Runtime } from '@waybill/core'
import type { KafkaTransport } from '@waybill/kafka/wire'
import type { Capabilities, Harness, Suite } from '@waybill/testkit/internal'

/**
 * What not every cluster can do for a test.
 *
 * - SEVERAL_BROKERS: it has at least three nodes, so that a request can reach the wrong one.
 * - FIRST_OFFSET: a topic can begin at any offset, also above 2^53.
 * - COMPACTION: a partition can be compacted when a test says so.
 */
export type KafkaCapability = 'SEVERAL_BROKERS' | 'FIRST_OFFSET' | 'COMPACTION'

/** For each capability whether it is there, and if not, why. */
export type KafkaCapabilities = Capabilities<KafkaCapability>

/** A cluster for one test. */
export interface ClusterUnderTest {
  /** Some of its nodes, as `host:port`. */
  readonly brokers: readonly string[]
  readonly transport: KafkaTransport
  /** The time the cluster lives in: a test waits on nothing else. */
  readonly runtime: Runtime
  /** The name of a topic, group or transactional id that no other test uses. */
  named(name: string): string
  /** Makes a topic of one partition that begins at an offset, and answers when it can be used. With FIRST_OFFSET. */
  createTopicAt?(name: string, firstOffset: bigint): Promise<void>
  /** Compacts a partition now. With COMPACTION. */
  compact?(topic: string, partition: number): Promise<void>
}

/** How a suite gets at a cluster. Topics and groups a test leaves behind are the harness's to delete. */
export type KafkaHarness = Harness<ClusterUnderTest, KafkaCapability>

/** A suite whose tests run on a cluster. */
export type KafkaSuite<Scene> = Suite<Scene, KafkaCapability>
