import { describe, expect, test } from 'vitest'
import { encodeCommitMetadata } from '../../src/ledger/commit-metadata.ts'
import { Ledger, ledgerStateAt } from '../../src/ledger/ledger.ts'
import { auditRow, readAudit } from '../../src/losses/audit-report.ts'
import { connectorWorld } from '../support/connector-world.ts'

const place = { binding: 'orders', topic: 'orders.events', groupId: 'orders' }

function settledUpTo(end: bigint): { committed: bigint; metadata: string } {
  const ledger = new Ledger(ledgerStateAt(100n))
  for (let offset = 100n; offset < end; offset++) {
    ledger.fetched(offset)
    ledger.settle(offset, offset === 101n ? 'DEAD' : 'OK')
  }
  ledger.fetched(end)
  ledger.fetched(end + 1n)
  ledger.settle(end + 1n, 'RETRIED')
  const state = ledger.state()
  return { committed: state.position, metadata: encodeCommitMetadata(state) }
}

describe('a row of the audit', () => {
  test('has the outcomes of all settled records', () => {
    expect(auditRow(place, 2, settledUpTo(105n), 0n)).toEqual({
      ...place,
      partition: 2,
      since: 100n,
      committed: 105n,
      settledAbove: 1n,
      ok: 4n,
      retried: 1n,
      dead: 1n,
      skipped: 0n,
      holes: 0n,
      waiting: 0n,
      waitedOk: 0n,
      waitedDead: 0n,
      missing: 0n,
      problem: undefined,
    })
  })

  test('has the reason why a commit cannot be accounted for', () => {
    const moved = { ...settledUpTo(105n), committed: 90n }
    expect(auditRow(place, 2, moved, 0n).problem).toMatch(/says .* settled, the counts say/)
    expect(auditRow(place, 2, { committed: 90n, metadata: null }, 0n)).toMatchObject({
      since: 90n,
      ok: 0n,
      problem: 'the commit has no metadata',
    })
  })

  test('counts pending records that are no longer in the log', () => {
    expect(auditRow(place, 2, settledUpTo(105n), 105n).missing).toBe(0n)
    expect(auditRow(place, 2, settledUpTo(105n), 108n).missing).toBe(3n)
  })

  test('tells the waiting records that succeeded from those that died', () => {
    const counts = { ...ledgerStateAt(0n).counts, ok: 2n, dead: 1n }
    const waiting = { ...ledgerStateAt(0n), position: 3n, counts, replaysFinished: 0n, waitingNow: 4n }
    const metadata = encodeCommitMetadata(ledgerStateAt(0n), waiting)
    expect(auditRow(place, 2, { committed: 0n, metadata }, 0n)).toMatchObject({
      waiting: 4n,
      waitedOk: 2n,
      waitedDead: 1n,
    })
  })

  test('names the equation of waiting records that does not hold', () => {
    const source = { ...ledgerStateAt(0n) }
    const waiting = { ...ledgerStateAt(0n), replaysFinished: 0n, waitingNow: 2n }
    const metadata = encodeCommitMetadata(source, waiting)
    expect(auditRow(place, 2, { committed: 0n, metadata }, 0n)).toMatchObject({
      waiting: 2n,
      problem: '2 outcomes belong to no record that was due (ORIGINALS)',
    })
  })
})

describe('the audit of a topic that does not exist', () => {
  test('is empty for a group that never committed there, and fails for one that did', () =>
    connectorWorld(async ({ sim, client }) => {
      sim.createTopic('orders.events')
      await client.admin.alterGroupOffsets('orders', [
        { topic: 'orders.events', partition: 0, offset: 0n, metadata: '' },
      ])
      // A broker that does not know the topic, beside a coordinator that still has its offsets.
      const admin = { ...client.admin, describeTopics: () => client.admin.describeTopics(['gone']) }
      expect(await readAudit({ ...place, groupId: 'billing' }, admin)).toEqual([])
      await expect(readAudit(place, admin)).rejects.toThrow(/gone/)
    }))
})
