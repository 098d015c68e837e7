import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createUserRepository, type Ended, type UserRepository } from '../support/user-repository.ts'

/** The catalog of a user with one event. */
function catalog(version: number, priorities: string, id = 'z.string()'): string {
  return `import { defineEvents } from '@waybill/core'
import { z } from 'zod'
export const events = defineEvents({
  OrderPlaced: {
    topic: 'orders',
    version: ${version},
    schema: z.object({ id: ${id}, priority: z.enum([${priorities}]).default('normal') }),
    key: (order: { id: unknown }) => String(order.id),
  },
})
`
}

const check = ['check', '--against', 'git:main', '--catalog', 'src/events.ts']

describe('waybill-contract in the git repository of a user', () => {
  let repository: UserRepository
  let written: Ended

  beforeAll(async () => {
    repository = await createUserRepository()
    await repository.write({ 'src/events.ts': catalog(1, "'normal'") })
    written = await repository.run('write', '--catalog', 'src/events.ts')
    repository.commit('declare OrderPlaced')
    repository.git('switch', '--quiet', '--create', 'change')
  })

  afterAll(() => repository[Symbol.asyncDispose]())

  test('passes without a change, and writes nothing again', async () => {
    expect(written).toEqual({ code: 0, stdout: 'written schemas/OrderPlaced/v1.json\n', stderr: '' })
    expect(await repository.run(...check)).toEqual({
      code: 0,
      stdout: '0 comparisons, 0 findings: passed\n',
      stderr: '',
    })
    expect(await repository.run('write', '--catalog', 'src/events.ts')).toMatchObject({ code: 0, stdout: '' })
  })

  test('exits with 0 on warnings, and with 3 on them with --strict', async () => {
    await repository.write({ 'src/events.ts': catalog(2, "'normal', 'high'") })
    await repository.run('write', '--catalog', 'src/events.ts')
    const lenient = await repository.run(...check)
    expect(lenient).toMatchObject({ code: 0, stderr: '' })
    expect(lenient.stdout).toContain('WARNING WB-C205 OrderPlaced/v2.json against v1: priority also lists "high"')
    expect(await repository.run(...check, '--strict')).toMatchObject({ code: 3 })
  })

  test('S2-060 exits with 3 on a breaking change and annotates its line', async () => {
    await repository.write({ 'src/events.ts': catalog(2, "'normal'", 'z.number()') })
    expect((await repository.run(...check)).stdout).toContain(
      'WB-C007 OrderPlaced/v2.json: the contract file of OrderPlaced version 2 differs from the catalog',
    )
    expect(await repository.run('write', '--catalog', 'src/events.ts')).toMatchObject({
      stdout: 'changed schemas/OrderPlaced/v2.json\n',
    })
    const { code, stdout } = await repository.run(...check, '--format', 'github')
    expect([code, stdout]).toEqual([
      3,
      '::error file=schemas/OrderPlaced/v2.json,line=4,title=WB-C103::Type change for id: string -> number%0AExample: {"id":""}%0AAdd an optional property of the new type beside the old one, or define a new event type.\n',
    ])
  })

  test('passes with a waiver until its last day', async () => {
    const waiver = { code: 'WB-C103', event: 'OrderPlaced', reason: 'no consumer yet', by: 'ana' }
    await repository.write({ 'schemas/waivers.json': JSON.stringify([{ ...waiver, until: '9999-12-31' }]) })
    expect(await repository.run(...check)).toMatchObject({ code: 0 })
    await repository.write({ 'schemas/waivers.json': JSON.stringify([{ ...waiver, until: '2020-01-01' }]) })
    expect((await repository.run(...check)).stdout).toContain(
      'WB-C010 The waiver of WB-C103 for OrderPlaced expired on',
    )
    await repository.write({ 'schemas/waivers.json': undefined })
  })

  test('names paths from the root of the repository in a folder of it', async () => {
    await repository.write({ 'shop/schemas/E/v1.json': '{"type":"string","x-waybill":{"event":"E","version":1}}' })
    repository.commit('declare E')
    await repository.write({ 'shop/schemas/E/v1.json': '{"type":"number","x-waybill":{"event":"E","version":1}}' })
    const args = ['check', '--against', 'git:HEAD', '--format', 'github', '--strict']
    const { code, stdout } = await repository.runIn('shop', ...args)
    expect(code).toBe(3)
    expect(stdout).toContain('file=shop/schemas/E/v1.json')
    repository.git('checkout', '--quiet', '--', 'shop')
  })

  test('does not report a file as removed that the base got after the branch began', async () => {
    repository.git('switch', '--quiet', 'main')
    await repository.write({ 'schemas/Later/v1.json': '{"type":"string","x-waybill":{"event":"Later","version":1}}' })
    repository.commit('declare Later')
    repository.git('switch', '--quiet', 'change')
    const { stdout } = await repository.run('check', '--against', 'git:main')
    expect(stdout).not.toContain('Later')
    repository.git('rm', '-rq', 'schemas/OrderPlaced')
    expect((await repository.run('check', '--against', 'git:main')).stdout).toContain('WB-C006 OrderPlaced/v1.json')
  })

  test.each([
    [['check', '--against', 'git:gone'], 'git does not have the revision gone.'],
    [['check', '--against', 'git:--help'], 'git does not have the revision --help.'],
    [['check', '--against', 'git:main', '--folder', 'none'], 'Neither none nor git:main has contract files.'],
    [['check', '--against', 'git:main', '--waivers', 'none.json'], 'The file of waivers none.json does not exist.'],
  ])('exits with 1 and says why: %j', async (args, problem) => {
    const { code, stdout, stderr } = await repository.run(...args)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain(problem)
  })

  test('exits with 1 for a contract file that is not one, or lies in another place', async () => {
    await repository.write({ 'schemas/X/v1.json': '{' })
    expect((await repository.run('check', '--against', 'git:main')).stderr).toContain(
      'schemas/X/v1.json is no contract file',
    )
    await repository.write({ 'schemas/X/v1.json': '{"x-waybill":{"event":"Y","version":1}}' })
    const { code, stderr } = await repository.run('check', '--against', 'git:main')
    expect(code).toBe(1)
    expect(stderr).toContain('holds the contract of Y version 1')
  })
})
