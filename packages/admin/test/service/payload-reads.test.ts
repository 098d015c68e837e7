import { type AuditEntry, runtimeWith } from '@waybill/core'
import { AuditedOperations } from '@waybill/core/internal'
import { expect, test } from 'vitest'
import { PayloadReads } from '../../src/service/payload-reads.ts'

test('a payload is an entry of the audit log once an hour, for each record and operator', async () => {
  let now = 0
  const runtime = runtimeWith({ clock: { now: () => now, monotonic: () => now } })
  const entries: AuditEntry[] = []
  const auditLog = { write: (entry: AuditEntry) => void entries.push(entry) }
  const reads = new PayloadReads(new AuditedOperations(runtime, 'INSTANCE', { permits: () => true, auditLog }), runtime)
  const read = (by: string, id: string): Promise<string> =>
    reads.read({ operator: { by } }, 'shipping', id, async () => 'payload')
  const written = (): readonly string[] =>
    entries
      .splice(0)
      .flatMap(({ by, request, outcome }) =>
        outcome === 'DONE' ? [`${by} ${(request as { readonly id: string }).id}`] : [],
      )
  expect(await read('ana', 'a')).toBe('payload')
  await read('ana', 'a')
  await read('ana', 'b')
  await read('ben', 'a')
  expect(written()).toEqual(['ana a', 'ana b', 'ben a'])
  now = 3_599_999
  await read('ana', 'a')
  expect(written()).toEqual([])
  now = 3_600_000
  await read('ana', 'a')
  await read('ana', 'a')
  expect(written()).toEqual(['ana a'])
})

test('a payload that could not be read counts as not read, and one whose entry cannot be written is not shown', async () => {
  const runtime = runtimeWith({})
  let isAway = false
  const auditLog = {
    write: () => {
      if (isAway) throw new Error('no connection')
    },
  }
  const reads = new PayloadReads(new AuditedOperations(runtime, 'INSTANCE', { permits: () => true, auditLog }), runtime)
  const call = { operator: { by: 'ana' } }
  await expect(reads.read(call, 'shipping', 'a', () => Promise.reject(new Error('gone')))).rejects.toThrow('gone')
  isAway = true
  let isRead = false
  const work = async (): Promise<void> => {
    isRead = true
  }
  await expect(reads.read(call, 'shipping', 'a', work)).rejects.toMatchObject({ code: 'WAYBILL_AUDIT_UNWRITABLE' })
  expect(isRead).toBe(false)
})
