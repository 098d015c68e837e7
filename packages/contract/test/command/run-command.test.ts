import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { contractRules } from '@waybill/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runCommand } from '../../src/command/run-command.ts'

let cwd: string

beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'waybill-command-'))
})

afterAll(() => rm(cwd, { recursive: true }))

async function run(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const printed = { out: '', err: '' }
  const code = await runCommand(args, {
    cwd,
    today: '2026-11-18',
    out: (text) => void (printed.out += text),
    err: (text) => void (printed.err += text),
  })
  return { code, ...printed }
}

describe('waybill-contract', () => {
  test.each([
    [['chek'], 'There is no command chek. Did you mean check?'],
    [['check', '--polcy', 'FULL'], 'check has no option --polcy. Did you mean --policy?'],
    [['check', '--against=x', '--policy=STRICT'], '--policy is one of BACKWARD'],
    [['check', '--against', 'x', '--format', 'xml'], '--format is one of text, json, github, sarif, junit, not xml.'],
    [['check'], 'check needs --against'],
    [['check', 'main', '--against', 'x'], 'check takes options only, not main.'],
    [['check', '--against'], '--against'],
    [['write'], 'write needs --catalog'],
    [['write', 'a', '--catalog', 'b'], 'write takes options only, not a.'],
    [['asyncapi'], 'asyncapi needs --catalog'],
    [['asyncapi', 'a', '--catalog', 'b'], 'asyncapi takes options only, not a.'],
    [['explain', 'WB-C1O1'], 'There is no finding WB-C1O1.'],
  ])('exits with 2 for wrong use: %j', async (args, problem) => {
    const { code, out, err } = await run(...args)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(problem)
  })

  test('prints help on every level', async () => {
    const overview = await run('help')
    expect(overview).toMatchObject({ code: 0, err: '' })
    expect(overview.out).toContain('3 the check failed')
    for (const help of [await run('help', 'check'), await run('check', '--help')]) {
      expect(help.code).toBe(0)
      expect(help.out).toContain('--against BASE')
    }
    expect((await run()).code).toBe(2)
  })

  test('explains every kind of finding', async () => {
    const list = await run('explain')
    for (const { code, explanation, remedy } of Object.values(contractRules)) {
      expect(list.out).toContain(code)
      const { out } = await run('explain', code.toLowerCase())
      expect(out).toContain(explanation)
      expect(out).toContain(remedy)
    }
  })

  test('exits with 1 for input that it cannot read', async () => {
    await writeFile(join(cwd, 'empty.mjs'), 'export const catalog = {}\n')
    await writeFile(join(cwd, 'broken.mjs'), 'export const = 1\n')
    const wrong: [args: string[], problem: string][] = [
      [['check', '--against', 'none'], 'The folder none has no contract files.'],
      [['write', '--catalog', 'empty.mjs'], 'empty.mjs exports no event catalog.'],
      [['write', '--catalog', 'broken.mjs'], 'broken.mjs cannot be loaded'],
      [['write', '--catalog', 'gone.mjs'], 'gone.mjs cannot be loaded'],
    ]
    for (const [args, problem] of wrong) {
      const { code, out, err } = await run(...args)
      expect([code, out]).toEqual([1, ''])
      expect(err).toContain(problem)
    }
  })
})
