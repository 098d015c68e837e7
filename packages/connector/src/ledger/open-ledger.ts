import type { CommittedOffset } from '@waybill/kafka/internal'
import { decodeCommitMetadata } from './commit-metadata.ts'
import { Ledger, ledgerStateAt } from './ledger.ts'
import { WaitingRecordsLeftError } from './waiting-left-error.ts'

/** A ledger, and why it does not go on where the one before it ended. */
export interface OpenedLedger {
  readonly ledger: Ledger
  readonly problem: string | undefined
  /** Why nothing of the partition may run, and its commit has to stay as it is. */
  readonly refusal?: WaitingRecordsLeftError
}

/**
 * The ledger that goes on with what was committed. Without a commit, or when reading begins elsewhere than it says,
 * counting begins anew: the first is a new group, the second is told by the client as a lost position.
 * Where an earlier owner kept records in a waiting topic, which nobody reads any more, it is refused.
 */
export function openLedger(committed: CommittedOffset | undefined, position: bigint): OpenedLedger {
  const anew = new Ledger(ledgerStateAt(position))
  const read = decodeCommitMetadata(committed ?? { offset: null, metadata: null })
  const waiting = 'problem' in read ? 0n : (read.waiting?.waitingNow ?? 0n)
  if (committed !== undefined && waiting > 0n)
    return { ledger: anew, problem: undefined, refusal: new WaitingRecordsLeftError(committed, waiting) }
  if (committed?.offset !== position) return { ledger: anew, problem: undefined }
  if ('problem' in read) return { ledger: anew, problem: read.problem }
  return { ledger: new Ledger(read.source), problem: undefined }
}
