import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import type { Simulation } from '../simulation.ts'
import { parseCommandLine, UsageError } from './command-line.ts'
import { brokenSeed, crashingSeed, moodySeed, simulation, slowSeed, stuckSeed } from './dice-simulation.ts'
import { runSimulation, traceSeed } from './run-command.ts'
import { runSeeds } from './seed-pool.ts'

async function run(args: readonly string[], dice: Simulation = simulation, of = runSimulation) {
  const command = parseCommandLine(['dice', '--workers', '2', ...args])
  assert(command !== undefined)
  let result = ''
  const progress: string[] = []
  const output = { result: (text: string) => (result += text), progress: (line: string) => progress.push(line) }
  const exitCode = await of(dice, command, output)
  return { exitCode, result, progress }
}

const mutants = (...names: readonly string[]): Simulation => ({
  ...simulation,
  mutants: simulation.mutants.filter(({ name }) => names.includes(name)),
})

test('a clean run ends with 0 and names what it never reached', async () => {
  const { exitCode, result } = await run(['--from', '100', '--seeds', '6'])
  expect(exitCode).toBe(0)
  expect(result).toContain('dice: 6 seeds, 0 with a violation; 1 were run twice')
  expect(result).toMatch(/Never reached\n {2}never\n/)
  expect(result).toMatch(/\b12 {2}SHAKE\n/)
})

test('a violation ends with 3, with its seed, what it is and the command that replays it', async () => {
  const { exitCode, result, progress } = await run(['--from', '10', '--seeds', '6'])
  expect(exitCode).toBe(3)
  expect(result).toContain('seed 13: LUCK: 13 was rolled\n    npm run sim -- dice --trace 13\n')
  expect(progress).toContain('dice: VIOLATION LUCK in seed 13: npm run sim -- dice --trace 13')
})

test('with --json the result is one object on one line', async () => {
  const { exitCode, result } = await run(['--from', '10', '--seeds', '6', '--json'])
  expect(exitCode).toBe(3)
  expect(result).toMatch(/^\{.*\}\n$/)
  expect(JSON.parse(result)).toMatchObject({
    sim: 'dice',
    seeds: 6,
    violations: 1,
    seedsPerMinute: expect.any(Number),
    cores: 2,
    mutants: null,
    rareStates: { even: 3, odd: 3, never: 0 },
    broken: [{ seed: brokenSeed, replay: 'npm run sim -- dice --trace 13' }],
  })
})

test('a seed with a different history on each run is a violation', async () => {
  const { exitCode, result } = await run(['--from', `${moodySeed}`, '--seeds', '1', '--workers', '1'])
  expect(exitCode).toBe(3)
  expect(result).toContain('seed 300: DETERMINISM: two runs differ: 1 and 2')
})

test('a planted bug that no seed finds makes the run exit with 4', async () => {
  const all = await run(['--from', '20', '--seeds', '5', '--mutants', '--json'], mutants('all-broken'))
  expect(all.exitCode).toBe(0)
  expect(JSON.parse(all.result)).toMatchObject({ violations: 0, mutants: { planted: 1, found: 1 }, missedMutants: [] })
  const some = await run(['--from', '20', '--seeds', '5', '--mutants', '--json'], mutants('all-broken', 'harmless'))
  expect(some.exitCode).toBe(4)
  expect(JSON.parse(some.result)).toMatchObject({ mutants: { planted: 2, found: 1 }, missedMutants: ['harmless'] })
  expect(some.progress).toContain('dice: planted "harmless": NOT FOUND in 5 seeds')
})

test.each([
  ['gone', 'The text of mutant "gone" occurs 0 times in test/simulation/runner/dice-rule.ts, not once.'],
  ['elsewhere', 'The simulation "dice" does not load test/simulation/draw.ts.'],
])('a bug that cannot be planted is no bug that was not found: %s', async (name, problem) => {
  await expect(run(['--seeds', '1', '--mutants'], mutants(name))).rejects.toThrow(problem)
})

test('a long run that misses a state ends with 4', async () => {
  const args = ['--from', '1000', '--seeds', '5000']
  expect((await run(args)).exitCode).toBe(4)
  expect((await run(args, { ...simulation, goals: ['even', 'odd'] })).exitCode).toBe(0)
})

test('a trace shows what a seed does, with a bug planted if asked for', async () => {
  const clean = await run(['--trace', '20'], simulation, traceSeed)
  expect(clean).toMatchObject({ exitCode: 0, result: 'rolled 20\nseed 20: 30 events, trace 20\n' })
  const planted = await run(['--trace', '20', '--mutant', 'all-broken'], simulation, traceSeed)
  expect(planted.exitCode).toBe(3)
  expect(planted.result).toContain('LUCK: 20 was rolled')
  await expect(run(['--trace', '1', '--mutant', 'x'], simulation, traceSeed)).rejects.toThrow(UsageError)
})

test('a seed that never ends, or ends its process, is a violation, and slow ones and others are run', async () => {
  const found: string[] = []
  await runSeeds({
    simulation,
    mutant: null,
    workers: 1,
    stuckMs: 500,
    seeds: [stuckSeed, 1, slowSeed, crashingSeed, 2],
    report({ seed, violations: [violation] }) {
      found.push(`${seed} ${violation?.invariant ?? 'fine'}`)
      return false
    },
  })
  expect(found).toEqual([`${stuckSeed} STUCK`, '1 fine', `${slowSeed} fine`, `${crashingSeed} CRASH`, '2 fine'])
})
