import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { createUserRepository, type UserRepository } from '../support/user-repository.ts'

const catalog = (
  version: number,
  priorities: string,
  key = 'order.id',
): string => `import { defineEvents } from '@waybill/core'
import { z } from 'zod'
export const events = defineEvents({
  OrderPlaced: {
    topic: 'orders',
    version: ${version},
    schema: z.object({ id: z.string(), priority: z.enum([${priorities}]).default('normal') }),
    key: (order: { id: string }) => ${key},
  },
})
`

const consumers = (known: string): string => `import { handleEvents } from '@waybill/connector'
import { events } from './catalog.ts'
export const billing = handleEvents(events, {
  OrderPlaced({ payload }) {
    if (![${known}].includes(payload.priority)) throw new TypeError('no price for ' + payload.priority)
  },
})
// A connection that is never closed must not keep the command alive.
setInterval(() => {}, 1_000)
`

const template = join(import.meta.dirname, '..', '..', 'template', 'contracts.yml')
const check = ['check', '--against', 'git:main', '--catalog', 'events/catalog.ts', '--consumers', 'events/consumers.ts']

describe('S2-060 waybill-contract with the consumers of a user', () => {
  let repository: UserRepository

  beforeAll(async () => {
    repository = await createUserRepository()
    await repository.write({
      'events/catalog.ts': catalog(1, "'normal'"),
      'events/consumers.ts': consumers("'normal'"),
    })
    await repository.run('write', '--catalog', 'events/catalog.ts')
    repository.commit('declare OrderPlaced')
    repository.git('switch', '--quiet', '--create', 'change')
  })

  afterAll(() => repository[Symbol.asyncDispose]())

  test('runs them, and leaves the repository as it was', async () => {
    const { code, stdout, stderr } = await repository.run(...check, '--strict')
    expect([code, stdout]).toEqual([0, '0 comparisons, 0 findings: passed\n'])
    expect(stderr).toMatch(/^\d+ generated events were given to consumers\n$/)
    expect(repository.git('status', '--porcelain')).toBe('')
    expect(repository.git('worktree', 'list').trim().split('\n')).toHaveLength(1)
  })

  test('fails if the consumers of the base refuse new events, and if new consumers refuse old ones', async () => {
    await repository.write({
      'events/catalog.ts': catalog(2, "'normal', 'high'"),
      'events/consumers.ts': consumers("'high'"),
    })
    await repository.run('write', '--catalog', 'events/catalog.ts')
    const { code, stdout } = await repository.run(...check)
    expect(code).toBe(3)
    expect(stdout).toMatch(
      /BREAKING WB-C501 OrderPlaced\/v2.json: events\/consumers.ts billing of the base refuses \d+ of/,
    )
    expect(stdout).toMatch(/BREAKING WB-C502 OrderPlaced\/v1.json: .*no price for normal/)
  })

  test('warns of a key that changed, and fails on it with --strict', async () => {
    await repository.write({
      'events/catalog.ts': catalog(2, "'normal', 'high'", '`order-${order.id}`'),
      'events/consumers.ts': consumers("'normal', 'high'"),
    })
    const { stdout } = await repository.run(...check)
    expect(stdout).toMatch(
      /WARNING WB-C012 OrderPlaced\/v1.json: the key of OrderPlaced version 1 was ".*" and is "order-/,
    )
    await repository.write({
      'events/catalog.ts': catalog(2, "'normal', 'high'"),
      'events/consumers.ts': consumers("'high'"),
    })
  })

  test('prints their AsyncAPI document', async () => {
    const { code, stdout } = await repository.run(
      'asyncapi',
      '--catalog',
      'events/catalog.ts',
      '--title',
      'Shop',
      '--sends',
      '*',
    )
    expect([code, JSON.parse(stdout)]).toMatchObject([
      0,
      { asyncapi: '3.0.0', info: { title: 'Shop', version: '1.0.0' }, operations: { 'send.orders': {} } },
    ])
    expect(await repository.run('asyncapi', '--catalog', 'events/catalog.ts', '--sends', 'Gone')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('No catalog has the event "Gone"') as unknown,
    })
  })

  test('says that it knows nothing of them if the code of the base does not load', async () => {
    repository.commit('raise OrderPlaced')
    repository.git('switch', '--quiet', '--create', 'broken', 'main')
    await repository.write({ 'events/consumers.ts': 'export const = 1\n' })
    repository.commit('break the consumers')
    repository.git('switch', '--quiet', 'change')
    const { stdout } = await repository.run(...check.with(2, 'git:broken'))
    expect(stdout).toContain('WARNING WB-C504 OrderPlaced/v2.json: the consumers of the base could not be loaded')
    // So it is for a version that was edited and not raised.
    await repository.write({
      'schemas/OrderPlaced/v2.json': undefined,
      'events/catalog.ts': catalog(1, "'normal', 'low'"),
    })
    await repository.run('write', '--catalog', 'events/catalog.ts')
    const edited = await repository.run(...check.with(2, 'git:broken'))
    expect(edited.stdout).toContain(
      'WARNING WB-C504 OrderPlaced/v1.json: the consumers of the base could not be loaded',
    )
    repository.git('checkout', '--quiet', '--', '.')
  })

  test('explains a base that a shallow clone does not have', async () => {
    await repository.write({ 'clone/.keep': '' })
    const clone = join(repository.root, 'clone')
    execFileSync('git', [
      'clone',
      '--quiet',
      '--depth=1',
      '--branch=main',
      `file://${repository.root}`,
      join(clone, 'shallow'),
    ])
    const { code, stderr } = await repository.runIn('clone/shallow', 'check', '--against', 'git:origin/change')
    expect(code).toBe(1)
    expect(stderr).toContain('This is a shallow clone. In GitHub Actions, check out with fetch-depth: 0')
    await repository.write({ 'clone/.keep': undefined })
  })

  test('judges an inventory of waiting records without a cluster', async () => {
    const counts = [{ event: 'OrderPlaced', version: 1, count: 3 }]
    const inventory = { format: 'waybill-waiting/1', takenAt: '2026-11-18T00:00:00.000Z', complete: true, counts }
    await repository.write({ 'waiting.json': JSON.stringify(inventory) })
    const waiting = ['waiting', '--inventory', 'waiting.json', '--catalog', 'events/catalog.ts']
    expect(await repository.run(...waiting, '--strict')).toEqual({
      code: 0,
      stdout: '1 comparison, 0 findings: passed\n',
      stderr: '3 waiting records of 1 version, counted at 2026-11-18T00:00:00.000Z\n',
    })
    await repository.write({
      'waiting.json': JSON.stringify({ ...inventory, counts: [{ event: 'Gone', version: 1, count: 1 }] }),
    })
    const { code, stdout } = await repository.run(...waiting, '--format', 'github')
    expect([code, stdout]).toEqual([
      3,
      expect.stringContaining(
        '::error file=schemas/Gone/v1.json,line=1,title=WB-C601::1 record of Gone version 1 waits',
      ),
    ])
  })
})

interface Workflow {
  readonly on: unknown
  readonly jobs: Readonly<
    Record<string, { readonly steps: readonly { readonly uses?: string; readonly run?: string }[] }>
  >
}

describe('S2-060 the workflow that is shipped', () => {
  const text = readFileSync(template, 'utf8')
  const workflow = parse(text) as Workflow
  const steps = workflow.jobs['contracts']?.steps ?? []

  test('runs on pull requests, with the whole history and nothing of the pull request in a script', () => {
    expect(workflow.on).toEqual({ pull_request: null })
    expect(steps.map(({ uses }) => uses?.replace(/@.*/, '')).filter((uses) => uses !== undefined)).toEqual([
      'actions/checkout',
      'actions/setup-node',
    ])
    expect(steps[0]).toMatchObject({ with: { 'fetch-depth': 0 } })
    for (const { run = '' } of steps) expect(run).not.toContain('${{')
  })

  test('has scripts that a shell can read', () => {
    for (const { run = '' } of steps) execFileSync('bash', ['-n', '-c', run])
  })

  test('blocks a breaking change in a repository, and passes on the base', async () => {
    await using repository = await createUserRepository()
    await repository.write({
      'events/catalog.ts': catalog(1, "'normal'"),
      'events/consumers.ts': consumers("'normal'"),
    })
    await repository.run('write', '--catalog', 'events/catalog.ts')
    repository.commit('declare OrderPlaced')
    repository.git('update-ref', 'refs/remotes/origin/main', 'HEAD')
    repository.git('switch', '--quiet', '--create', 'change')
    const { run = '' } = steps.at(-1) ?? {}
    const args =
      /^npx waybill-contract (.+)$/.exec(run.trim())?.[1]?.replaceAll('"', '').replace('$BASE', 'main').split(' ') ?? []
    expect(args).toContain('--strict')
    expect(await repository.run(...args)).toMatchObject({ code: 0 })
    const output = join(repository.root, '.git', 'output')
    const changed = (): string => {
      writeFileSync(output, '')
      const env = { ...process.env, BASE: 'main', GITHUB_OUTPUT: output }
      execFileSync('bash', ['-c', steps[1]?.run ?? 'exit 1'], { cwd: repository.root, env })
      return readFileSync(output, 'utf8')
    }
    expect(changed()).toBe('')
    await repository.write({ 'events/catalog.ts': catalog(2, "'normal', 'high'") })
    await repository.run('write', '--catalog', 'events/catalog.ts')
    repository.commit('add a priority')
    expect(changed()).toBe('contracts=true\n')
    const { code, stdout } = await repository.run(...args)
    expect(code).toBe(3)
    expect(stdout).toContain('::error file=schemas/OrderPlaced/v2.json')
  })

  test('is shown in the docs as it is shipped', () => {
    const page = join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'how-to', 'check-contracts.md')
    expect(readFileSync(page, 'utf8')).toContain(text)
  })
})
