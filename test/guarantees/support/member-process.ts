/**
 * A member of a group in a process of its own. It commits its handled offsets ten times a second, whether or not they
 * are new or still its own, and reports the outcome of each commit to its parent.
 */

import { systemTimers } from '@waybill/core/internal'
import { createKafkaClient, type KafkaRecord } from '@waybill/kafka'
import { type OffsetCommit } from '@waybill/kafka/internal'

/** The task of the process. */
export interface MemberTask {
  readonly brokers: readonly string[]
  readonly groupId: string
  readonly topic: string
  readonly sessionTimeoutMs: number
}

/** Its messages. */
export type MemberMessage =
  | { readonly kind: 'HANDLED'; readonly value: string; readonly epoch: number }
  | { readonly kind: 'COMMITTED'; readonly epochs: readonly number[] }
  | { readonly kind: 'REFUSED'; readonly epochs: readonly number[]; readonly why: string }
  | { readonly kind: 'LOST' }

const tell = (message: MemberMessage): void => void process.send?.(message)
const task = JSON.parse(process.argv[2] ?? '') as MemberTask
const kafka = createKafkaClient({ brokers: task.brokers })
const done = new Map<number, OffsetCommit>()

const consumer = kafka.consumer({
  groupId: task.groupId,
  topics: [task.topic],
  sessionTimeoutMs: task.sessionTimeoutMs,
  heartbeatIntervalMs: task.sessionTimeoutMs / 5,
  maxWaitMs: 100,
  onLost: () => tell({ kind: 'LOST' }),
})
await consumer.start()

const handle = ({ topic, partition, epoch, offset, value }: KafkaRecord): void => {
  done.set(partition, { topic, partition, epoch, offset: offset + 1n })
  tell({ kind: 'HANDLED', value: String(value), epoch })
}

const commitForEver = async (): Promise<never> => {
  for (;;) {
    await systemTimers.sleep(100)
    const offsets = [...done.values()]
    if (offsets.length === 0) continue
    const epochs = offsets.map(({ epoch }) => epoch)
    await consumer.commit(offsets).then(
      () => tell({ kind: 'COMMITTED', epochs }),
      (error: unknown) => tell({ kind: 'REFUSED', epochs, why: String(error) }),
    )
  }
}

const handleForEver = async (): Promise<never> => {
  for (;;) for (const record of await consumer.poll(10, 100)) handle(record)
}

await Promise.all([commitForEver(), handleForEver()])
