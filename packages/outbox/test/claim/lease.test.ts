import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { LeaseHold, leaseMarginMs } from '../../src/claim/lease-hold.ts'
import { createLeaseVersions, uniqueOwner } from '../../src/claim/lease-versions.ts'
import { ModeTerm } from '../../src/claim/mode-term.ts'

describe('a lease', () => {
  test.each([
    [10_000, 1_000],
    [100_000, 1_000],
    [1_000, 100],
  ])('of %i ms starts nothing in its last %i ms', (timeoutMs, marginMs) => {
    expect(leaseMarginMs(timeoutMs)).toBe(marginMs)
    const hold = new LeaseHold({ kind: 'LEASE', owner: 'a', version: 1n }, timeoutMs, 50, new ModeTerm())
    expect([hold.mayStart(50 + timeoutMs - marginMs - 1), hold.mayStart(50 + timeoutMs - marginMs)]).toEqual([
      true,
      false,
    ])
  })

  test('is old after half of its time, and young again when it was renewed', () => {
    const hold = new LeaseHold({ kind: 'LEASE', owner: 'a', version: 1n }, 1_000, 0, new ModeTerm())
    expect([hold.isOld(499), hold.isOld(500)]).toEqual([false, true])
    hold.renewed(500)
    expect([hold.isOld(999), hold.mayStart(1_399)]).toEqual([false, true])
  })

  test('starts nothing once another mode may have had the table, also when it is renewed', () => {
    const term = new ModeTerm()
    const hold = new LeaseHold({ kind: 'LEASE', owner: 'a', version: 1n }, 1_000, 0, term)
    term.end()
    hold.renewed(500)
    expect([hold.mayStart(600), hold.lasts(600)]).toEqual([false, true])
  })
})

describe('lease tokens', () => {
  test('rise within a process and over its restarts, below 2^53', async () => {
    const runtime = createVirtualRuntime(1)
    const first = createLeaseVersions(runtime)
    const versions = Array.from({ length: 1_000 }, first)
    await runtime.advance(1)
    const next = createLeaseVersions(runtime)()
    expect(new Set(versions).size).toBe(1_000)
    expect(versions.every((version) => version < next)).toBe(true)
    expect(next < 2n ** 53n).toBe(true)
  })

  test('carry a name that no other process has, nor the next run of this one', () => {
    const runtime = createVirtualRuntime(1)
    const names = Array.from({ length: 100 }, () => uniqueOwner('poller', runtime))
    expect(new Set(names).size).toBe(100)
    for (const name of names) expect(name).toMatch(/^poller-[0-9a-f]{8}$/)
  })
})
