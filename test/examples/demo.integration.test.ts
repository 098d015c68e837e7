import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describeWith } from '@waybill/test-support'
import { describe, expect, test } from 'vitest'
import { tableOf } from '../../examples/demo/src/account-table.ts'
import { countOf } from '../../examples/demo/src/count-of.ts'
import { readOptions } from '../../examples/demo/src/options.ts'

const root = join(import.meta.dirname, '../..')
const main = join(root, 'examples/demo/src/main.ts')
const flags = ['--disable-warning=ExperimentalWarning', '--conditions=@waybill/source']

async function runDemo(...args: string[]): Promise<Record<string, number>> {
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, main, '--json', ...args], { cwd: root })
  return JSON.parse(stdout) as Record<string, number>
}

const nothingLost = {
  written: 180,
  published: 180,
  handled: 179,
  dead: 1,
  // Two died, one of them maybe in mid-commit and so twice.
  replayed: expect.toSatisfy((count: number) => count >= 2) as number,
  duplicates: 0,
  phantoms: 0,
  lost: 0,
}

const account = (count: number): string => {
  const all = { written: 9, published: 9, handled: 9, skipped: 0, duplicates: 0, phantoms: 0, lost: 0 }
  return tableOf({ audit: { ...all, dead: count, replayed: count, repeatedRecords: count }, ledger: [] }, 1)
}

describe('the demo', () => {
  test('on its embedded default loses nothing by a kill -9, and ships nothing twice', {
    timeout: 120_000,
  }, async () => {
    expect(await runDemo()).toMatchObject(nothingLost)
  })

  test('speaks of one thing as of one, and of more as of more', () => {
    expect([0, 1, 2].map((count) => countOf(count, 'event'))).toEqual(['0 events', '1 event', '2 events'])
    expect(account(1)).toContain('with its history; 1 was replayed')
    expect(account(1)).toContain('; 1 a second time, after the kill, and recognized by its id')
    expect(account(2)).toContain('with their history; 2 were replayed')
    expect(account(2)).toContain('; 2 a second time, after the kill, and recognized by their id')
  })

  test('takes its services from the command line or the environment', () => {
    const environment = { KAFKA_BOOTSTRAP: 'one:1,two:2', DATABASE_URL: 'postgres://there' }
    expect(readOptions([], environment)).toMatchObject({
      brokers: null,
      postgres: null,
      isJson: false,
      hasConsole: false,
    })
    expect(readOptions(['--kafka', '--postgres'], environment)).toMatchObject({
      brokers: ['one:1', 'two:2'],
      postgres: 'postgres://there',
      isJson: false,
    })
    expect(readOptions(['--kafka', 'here:9', '--json'], environment)).toMatchObject({
      brokers: ['here:9'],
      postgres: null,
      isJson: true,
    })
    expect(readOptions(['--help'], {})).toBeUndefined()
    expect(() => readOptions(['--kafak'], {})).toThrow("Unknown option '--kafak'")
    expect(() => readOptions(['now'], {})).toThrow('Unknown argument: now')
  })
})

describeWith('kafka', 'postgres')('the demo on real services', ({ kafka, postgres }) => {
  test('loses nothing on real services', { timeout: 180_000 }, async () => {
    expect(await runDemo(`--kafka=${kafka.bootstrap.join()}`, `--postgres=${postgres.url}`)).toMatchObject(nothingLost)
  })
})
