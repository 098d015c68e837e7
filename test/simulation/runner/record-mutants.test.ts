import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Simulation } from '../simulation.ts'
import { parseCommandLine } from './command-line.ts'
import { brokenSeed, simulation } from './dice-simulation.ts'
import { recordMutants } from './record-mutants.ts'

const directory = mkdtempSync(join(tmpdir(), 'recorded-seeds-'))
afterAll(() => rmSync(directory, { recursive: true }))

async function record(args: readonly string[], recorded: number, ...names: readonly string[]) {
  const seedFile = join(directory, 'seeds.json')
  writeFileSync(seedFile, '{}')
  const mutants = simulation.mutants.filter(({ name }) => names.includes(name))
  const dice: Simulation = { ...simulation, seedFile, mutants: mutants.map((one) => ({ ...one, seed: recorded })) }
  const output = { result: () => {}, progress: () => {} }
  const command = parseCommandLine(['dice', '--record', '--workers', '1', ...args])
  assert(command !== undefined)
  const exitCode = await recordMutants(dice, command, output)
  return { exitCode, seeds: JSON.parse(readFileSync(seedFile, 'utf8')) as unknown }
}

test('a recorded seed that still finds its bug stays', async () => {
  expect(await record(['--seeds', '5'], 20, 'all-broken')).toEqual({ exitCode: 0, seeds: { 'all-broken': 20 } })
})

test('a seed that fails without the bug is not recorded for it', async () => {
  const from = ['--from', `${brokenSeed}`, '--seeds', '3']
  expect(await record(from, 0, 'all-broken')).toEqual({ exitCode: 0, seeds: { 'all-broken': brokenSeed + 1 } })
})

test('a bug that no seed finds ends with 4 and is not recorded', async () => {
  expect(await record(['--from', '20', '--seeds', '3'], 0, 'harmless')).toEqual({ exitCode: 4, seeds: {} })
})
