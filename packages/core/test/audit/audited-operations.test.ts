import {
  type AuditEntry,
  applicationOperator,
  createMemoryLogger,
  OperationForbiddenError,
  runtimeWith,
} from '@waybill/core'
import { AuditedOperations } from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'

const alice = { by: 'alice' }
const asked = { operation: 'READ', target: 'orders', request: { from: 1n }, operator: alice } as const

function setup(permits?: (operator: { by: string }) => boolean | Promise<boolean>, failOn?: AuditEntry['outcome']) {
  const entries: AuditEntry[] = []
  const logger = createMemoryLogger()
  const write = (entry: AuditEntry): void => {
    if (entry.outcome === failOn) throw new Error('disk full')
    entries.push(entry)
  }
  const audited = new AuditedOperations<'READ'>(runtimeWith({ logger }), 'INSTANCE', { auditLog: { write }, permits })
  return { entries, logger, audited }
}

async function* letters(): AsyncGenerator<string> {
  yield 'a'
  yield 'b'
  throw new Error('unreachable')
}

const outcomesOf = (entries: readonly AuditEntry[]) => entries.map(({ outcome, detail }) => [outcome, detail])

describe('a stream that an operator reads', () => {
  test('I21 is in the audit log before the first item, and with the number of items when the reader leaves early', async () => {
    const { entries, audited } = setup(() => true)
    for await (const letter of audited.stream(asked, letters)) {
      expect(outcomesOf(entries)).toEqual([['ASKED', undefined]])
      expect(letter).toBe('a')
      break
    }
    expect(outcomesOf(entries)).toEqual([
      ['ASKED', undefined],
      ['DONE', { read: 1 }],
    ])
    expect(entries[0]).toMatchObject({ request: { from: '1' }, target: 'orders' })
  })

  test('I21 that fails is in the audit log as failed', async () => {
    const { entries, audited } = setup(() => true)
    const reading = async (): Promise<void> => {
      for await (const letter of audited.stream(asked, letters)) expect(['a', 'b']).toContain(letter)
    }
    await expect(reading()).rejects.toThrow('unreachable')
    expect(outcomesOf(entries).at(-1)).toEqual(['FAILED', { read: 2, error: 'Error: unreachable' }])
  })

  test('I21 is not opened when its request cannot be audited', async () => {
    const { audited } = setup(() => true, 'ASKED')
    const opened = audited.stream(asked, () => {
      throw new Error('It was opened')
    })
    await expect(opened.next()).rejects.toThrow("READ of 'orders' not run")
  })
})

describe('a permission', () => {
  test.each([
    ['nothing', undefined],
    ['a value that is not a boolean', () => 'yes' as never],
    ['a promise of false', async () => false],
  ])('I21 is not given by %s', async (_, permits) => {
    const { entries, audited } = setup(permits)
    await expect(audited.permit(asked)).rejects.toThrow(OperationForbiddenError)
    expect(outcomesOf(entries)).toEqual([['REFUSED', undefined]])
  })

  test('I21 is not needed by the program itself, of which no copy passes for it', async () => {
    const { audited } = setup(() => false)
    const operator = applicationOperator('nightly')
    await audited.permit({ ...asked, operator })
    for (const copy of [{ ...operator }, JSON.parse(JSON.stringify(operator)), structuredClone(operator)])
      await expect(audited.permit({ ...asked, operator: copy })).rejects.toThrow("'application' is reserved")
    const heir = Object.create(operator, { by: { value: 'mallory' } }) as typeof operator
    await expect(audited.permit({ ...asked, operator: heir })).rejects.toThrow("mallory may not READ 'orders'")
  })

  test('I21 is given to the name that the entries have, whatever becomes of the operator meanwhile', async () => {
    const operator = { by: 'alice', reason: 'ticket 7' }
    const permits = async ({ by }: { readonly by: string }): Promise<boolean> => {
      Object.assign(operator, { by: 'mallory', reason: 'none' })
      return by === 'alice'
    }
    const { entries, audited } = setup(permits)
    await audited.run(
      { ...asked, operator },
      async () => 7,
      (result) => result,
    )
    expect(entries.map(({ by, reason }) => [by, reason])).toEqual([
      ['alice', 'ticket 7'],
      ['alice', 'ticket 7'],
    ])
  })

  test('I21 needs a reason that an entry can hold, if there is one', async () => {
    const reason: unknown = { ticket: 7 }
    const { audited } = setup(() => true)
    await expect(audited.permit({ ...asked, operator: { by: 'alice', reason } as typeof alice })).rejects.toThrow(
      'reason of an operator must be a text',
    )
  })

  test('I21 is explained when no operator has one', async () => {
    const refused = await setup()
      .audited.permit(asked)
      .catch((error: unknown) => error)
    expect((refused as OperationForbiddenError).hint).toContain('pass administration')
  })
})

test('an outcome that cannot be written hides neither the result nor the error, and is logged', async () => {
  const { audited, logger } = setup(() => true, 'DONE')
  expect(
    await audited.run(
      asked,
      async () => 7,
      (result) => result,
    ),
  ).toBe(7)
  expect(logger.lines.map(({ text }) => text)).toEqual(['Audit log entry not written'])
})
