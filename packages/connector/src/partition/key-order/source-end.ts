import type { Runtime } from '@waybill/core'
import type { KafkaClient, TopicPartition } from '@waybill/kafka'

/** The wait after a broker did not return the end offset. */
const askAgainMs = 1_000

/** The client that is asked, and the observer of failures. */
export interface SourceEndDeps {
  readonly client: Pick<KafkaClient, 'admin'>
  readonly runtime: Runtime
  readonly failed: (error: Error) => void
}

/** Reads the end offset of the source. Retries until it succeeds; rejects when the signal aborts. */
export async function sourceEndOf(source: TopicPartition, deps: SourceEndDeps, signal: AbortSignal): Promise<bigint> {
  const { client, runtime, failed } = deps
  for (;;) {
    try {
      const [answer] = await client.admin.listOffsets([source], 'LATEST')
      if (answer?.outcome === 'DONE') return answer.offset ?? 0n
      if (answer !== undefined) failed(answer.error)
    } catch (error) {
      failed(error as Error)
    }
    await runtime.timers.sleep(askAgainMs, signal)
  }
}
