import assert from 'node:assert/strict'
import { type AuditEntry, type AuditLog, createUlidGenerator, systemRuntime } from '@waybill/core'
import type { AuditReader } from '@waybill/core/internal'
import { declareSuite, type Suite } from '../suite/suite.ts'
import type { SuiteRunner } from '../suite/suite-runner.ts'
import type { AuditLogHarness, AuditUnderTest } from './audit-log-harness.ts'

/** Declares the tests of an `AuditLog` that can be read: two entries of an operation are one, and nothing is changed. */
export function auditLogSuite(harness: AuditLogHarness, runner: SuiteRunner): void {
  declareSuite('what an audit log answers', harness, runner, (subject) => new AuditScene(subject), [
    writePart,
    readPart,
  ])
}

class AuditScene implements AsyncDisposable {
  readonly log: AuditLog & AuditReader
  readonly other: AuditLog & AuditReader

  constructor({ logs }: AuditUnderTest) {
    ;[this.log, this.other] = logs
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

type AuditSuite = Suite<AuditScene, never>

const nextId = createUlidGenerator(systemRuntime)

function asked(given: Partial<AuditEntry> = {}): AuditEntry {
  return {
    id: nextId(),
    atMs: 1_000,
    by: 'ana',
    reason: 'INC-311',
    operation: 'REPLAY',
    target: 'default:shipping',
    request: { count: 100, from: '9007199254740993' },
    outcome: 'ASKED',
    detail: undefined,
    scope: 'FLEET',
    via: 'REST',
    address: '10.0.3.7',
    ...given,
  }
}

const page = { limit: 10 }

function writePart({ describe, test }: AuditSuite): void {
  describe('an operation', () => {
    test('is one change of two entries', async ({ log, other }) => {
      const request = asked()
      await log.write(request)
      assert.deepEqual((await other.query({}, page)).items, [{ ...request, endedAtMs: undefined }])
      const detail = { replayed: 97 }
      await other.write({ ...request, outcome: 'DONE', detail, atMs: 2_000 })
      assert.deepEqual((await log.query({}, page)).items, [{ ...request, outcome: 'DONE', detail, endedAtMs: 2_000 }])
    })

    test('that was refused is one entry', async ({ log }) => {
      const refused = asked({ outcome: 'REFUSED' })
      await log.write(refused)
      assert.deepEqual((await log.query({}, page)).items, [{ ...refused, endedAtMs: 1_000 }])
    })

    test('keeps its first entries when they are written again', async ({ log }) => {
      const request = asked()
      await log.write(request)
      await log.write({ ...request, by: 'eve' })
      await log.write({ ...request, outcome: 'DONE', detail: 1, atMs: 2_000 })
      await log.write({ ...request, outcome: 'FAILED', detail: 2, atMs: 3_000 })
      const [change] = (await log.query({}, page)).items
      assert.deepEqual([change?.by, change?.outcome, change?.detail, change?.endedAtMs], ['ana', 'DONE', 1, 2_000])
    })
  })
}

function readPart({ describe, test }: AuditSuite): void {
  describe('a query', () => {
    test('lists the newest first, in pages', async ({ log }) => {
      const ids: string[] = []
      for (let index = 0; index < 5; index++) {
        const entry = asked()
        ids.push(entry.id)
        await log.write(entry)
      }
      const first = await log.query({}, { limit: 3 })
      const second = await log.query({}, { limit: 3, cursor: first.next ?? undefined })
      assert.deepEqual(
        [...first.items, ...second.items].map(({ id }) => id),
        ids.toReversed(),
      )
      assert.equal(second.next, null)
    })

    test('selects by operator, operation, target, outcome and time', async ({ log }) => {
      const replay = asked({ atMs: 1_000 })
      const purge = asked({ operation: 'PURGE', by: 'ben', target: 'default:billing', atMs: 2_000 })
      await log.write(replay)
      await log.write(purge)
      await log.write({ ...purge, outcome: 'FAILED', detail: 'no broker', atMs: 2_500 })
      const idsOf = async (query: Parameters<typeof log.query>[0]) =>
        (await log.query(query, page)).items.map(({ id }) => id)
      assert.deepEqual(await idsOf({ by: 'ben' }), [purge.id])
      assert.deepEqual(await idsOf({ operation: 'REPLAY' }), [replay.id])
      assert.deepEqual(await idsOf({ target: 'default:billing' }), [purge.id])
      assert.deepEqual(await idsOf({ outcomes: ['ASKED', 'REFUSED'] }), [replay.id])
      assert.deepEqual(await idsOf({ outcomes: ['FAILED'] }), [purge.id])
      assert.deepEqual(await idsOf({ sinceMs: 2_000 }), [purge.id])
      assert.deepEqual(await idsOf({ untilMs: 2_000 }), [replay.id])
    })
  })
}
