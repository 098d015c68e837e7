import type { Runtime } from '@waybill/core'
import type { KafkaClient, TopicPartition } from '@waybill/kafka'

/** How long a broker that did not say where the source ends is left alone. */
const askAgainMs = 1_000

/** Who is asked, and who is told what went wrong. */
export interface SourceEndDeps {
  readonly client: Pick<KafkaClient, 'admin'>
  readonly runtime: Runtime
  readonly failed: (error: Error) => void
}

/** The first offset that the source does not have yet. Asks until it is answered; rejects when the signal aborts. */
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
