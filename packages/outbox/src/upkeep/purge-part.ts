import type { OutboxPart } from '../loops/outbox-part.ts'
import { type PurgeSchedulerDeps, purgeSchedulerOf } from './purge-scheduler.ts'

/** Wraps the purge as a part of an outbox. */
export function purgePart(deps: PurgeSchedulerDeps): OutboxPart {
  const scheduler = purgeSchedulerOf(deps)
  return {
    name: 'purge',
    isAside: true,
    start: () => scheduler.start(),
    stop: (deadline) => scheduler.stop({ deadlineMs: deadline.remainingMs() }),
  }
}
