import { engineChannel } from '@waybill/core/internal'
import type { ContainerEvent } from '../group/container-deps.ts'
import type { ConfirmedDeadLetter } from '../partition/partition-worker.ts'
import { exceptionClassOf } from '../records/failure-text.ts'

const assigned = engineChannel('partition:assigned')
const revoked = engineChannel('partition:revoked')
const lost = engineChannel('partition:lost')
const deadLettered = engineChannel('record:dead-lettered')

/** The container events that only observers outside of the engine use. */
export type AnnouncedEvent = Extract<ContainerEvent, { type: 'DEAD_LETTERED' | 'ASSIGNED' | 'RELEASED' }>

/** Publishes a container event on its diagnostics channel. */
export function announceEvent(binding: string, topic: string, event: AnnouncedEvent): void {
  switch (event.type) {
    case 'DEAD_LETTERED':
      announceDeadLetter(binding, event.letter)
      break
    case 'ASSIGNED':
      for (const partition of event.partitions) assigned.publish({ binding, topic, partition, epoch: event.epoch })
      break
    case 'RELEASED':
      for (const partition of event.partitions) (event.isLost ? lost : revoked).publish({ binding, topic, partition })
  }
}

function announceDeadLetter(binding: string, { work, written, outcome }: ConfirmedDeadLetter): void {
  if (!deadLettered.hasSubscribers) return
  const { topic, partition, offset } = work.record
  const exception = exceptionClassOf(outcome.failure.error)
  const { reason } = outcome
  deadLettered.publish({ binding, topic, partition, offset, reason, exception, deadLetterTopic: written.topic })
}
