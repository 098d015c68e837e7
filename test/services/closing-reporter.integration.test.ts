import { fileURLToPath } from 'node:url'
import { describeWith, runProgram } from '@waybill/test-support'
import { describe, expect, test } from 'vitest'

const repository = fileURLToPath(new URL('../..', import.meta.url))

interface Outcome {
  readonly code: number | null
  readonly lines: readonly string[]
}

/** Runs the tests of a fixture as `npm test` does, and returns what it prints to a pipe. */
async function runFixture(name: string, environment: NodeJS.ProcessEnv = {}, ...args: string[]): Promise<Outcome> {
  const config = 'test/services/fixture/vitest.config.ts'
  const command = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    config,
    '--root',
    '.',
    ...(name === '' ? [] : [`fixture/${name}`]),
    ...args,
  ]
  const inherited = Object.entries(process.env).filter(
    ([key]) => !/^(?:VITEST|WAYBILL_REQUIRE|NODE_OPTIONS|FORCE_)/.test(key),
  )
  const env = { ...Object.fromEntries(inherited), NO_COLOR: '1', ...environment }
  const result = await runProgram(process.execPath, command, { cwd: repository, env })
  return { code: result?.code ?? null, lines: (result?.stdout ?? '').trimEnd().split('\n') }
}

const nowhere = { KAFKA_BOOTSTRAP: '127.0.0.1:1' }

describe('the last line of a run', { timeout: 120_000 }, () => {
  test('counts tests, hooks that fail, and what skips itself, whose reason is told', async () => {
    const { code, lines } = await runFixture('outcomes')
    expect(lines.at(-1)).toBe('1 passed, 2 failed, 2 skipped')
    expect(lines).toContain('Skipped: the moon is not full (1 test).')
    expect(code).toBe(1)
  })

  test('comes after the kinds of tests that ran, and those that are left to check', async () => {
    const { lines } = await runFixture('', {}, '--project', 'fixture', '-t', 'one passes')
    expect(lines).toContain('Ran here: fixture 1.')
    expect(lines).toContain('Left to `npm run check`: absent.')
  })

  test('counts a run that finds no test as failed', async () => {
    const { code, lines } = await runFixture('no-such-file')
    expect(lines.at(-1)).toBe('0 passed, 1 failed, 0 skipped')
    expect(code).toBe(1)
  })

  test('comes after the services: which were used, which were not, and why', async () => {
    const { code, lines } = await runFixture('services', nowhere, '-t', 'with Kafka')
    expect(lines.at(-1)).toBe('0 passed, 0 failed, 2 skipped')
    expect(code).toBe(0)
    const at = lines.indexOf('Real services:')
    expect(at).toBeGreaterThan(0)
    expect(lines[at + 1]).toMatch(
      /kafka {5}not used: what KAFKA_BOOTSTRAP names cannot be used .*; 1 test not run\. `npm run services up` starts one/,
    )
    expect(lines[at + 2]).toMatch(/postgres {2}/)
  })

  test('counts a required service that is absent as failed, and so do its tests', async () => {
    const { code, lines } = await runFixture('services', { ...nowhere, WAYBILL_REQUIRE: 'kafka' }, '-t', 'with Kafka')
    expect(lines.at(-1)).toBe('0 passed, 2 failed, 2 skipped')
    expect(lines.find((line) => line.startsWith('FAILED:'))).toMatch(/WAYBILL_REQUIRE names kafka, and it is absent/)
    expect(code).toBe(1)
  })

  test('counts a requirement that does not exist as failed, although every test passed', async () => {
    const { code, lines } = await runFixture('outcomes', { WAYBILL_REQUIRE: 'kafak' }, '-t', 'one passes')
    expect(lines.at(-1)).toMatch(/^1 passed, 1 failed, \d skipped$/)
    expect(lines).toContain('FAILED: WAYBILL_REQUIRE names "kafak"; did you mean kafka?')
    expect(code).toBe(1)
  })
})

describeWith('postgres')('a test that fails', ({ postgres }) => {
  test('leaves nothing on the service', { timeout: 120_000 }, async () => {
    const { lines } = await runFixture('services', { DATABASE_URL: baseUrl(postgres.url) }, '-t', 'with PostgreSQL')
    expect(lines.at(-1)).toBe('0 passed, 1 failed, 1 skipped')
    const schema = lines.join('\n').match(/schema=(\w+)/)?.[1]
    expect(schema).toMatch(/^waybill_test_/)
    const { rowCount } = await postgres.pool.query('select from pg_namespace where nspname = $1', [schema])
    expect(rowCount).toBe(0)
  })
})

function baseUrl(url: string): string {
  const base = new URL(url)
  base.search = ''
  return base.href
}
