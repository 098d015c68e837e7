import type { CommittedOffset } from '@waybill/kafka/internal'
import { decodeCommitMetadata } from './commit-metadata.ts'
import { Ledger, ledgerStateAt } from './ledger.ts'
import { WaitingRecordsLeftError } from './waiting-left-error.ts'

/** A ledger, and the reason it does not continue the previous one. */
export interface OpenedLedger {
  readonly ledger: Ledger
  readonly problem: string | undefined
  /** The reason the partition must not run and its commit must not change. */
  readonly refusal?: WaitingRecordsLeftError
}

/**
 * Returns a ledger that continues from the commit. Counting restarts without a commit (a new group), or if reading
 * starts at another offset (the client reports that as a lost position). Returns a refusal if a previous owner left
 * records in a waiting topic that the binding no longer reads.
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
