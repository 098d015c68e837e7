import { type CommittedLedger, isSettledIn } from './committed-state.ts'
import { type Evidence, placeName } from './evidence.ts'
import type { LogRecord, TopicLog } from './topic-log.ts'

/**
 * I7 in a commit: for each key, settled records precede unsettled ones. Otherwise the next owner would start a later,
 * waiting record before an earlier one that it has yet to fetch.
 *
 * @param isGone - whether a record was deleted before the group could see it
 */
export function overtakenIn(
  log: TopicLog,
  ledger: CommittedLedger,
  evidence: Evidence,
  isGone: (record: LogRecord) => boolean,
): string | undefined {
  const waiting = new Map<string, string>()
  for (const record of log.records) {
    const plan = evidence.originalIn(record)?.plan
    if (plan === undefined || plan.key === null || isGone(record)) continue
    const earlier = waiting.get(plan.key)
    if (!isSettledIn(ledger, record.offset)) waiting.set(plan.key, earlier ?? placeName(record))
    else if (earlier !== undefined) return `${placeName(record)} is settled, and ${earlier} of its key is not`
  }
  return undefined
}
