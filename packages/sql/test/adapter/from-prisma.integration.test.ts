import { PrismaPg } from '@prisma/adapter-pg'
import { describeWith } from '@waybill/test-support'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fromPg } from '../../src/adapter/from-pg.ts'
import { fromPrisma } from '../../src/adapter/from-prisma.ts'
import { TransactionRolledBackError } from '../../src/error/sql-errors.ts'
import { describeAdapter, describeDoomedTransaction } from './adapter-behaviour.ts'
import { type GeneratedPrisma, type GeneratedTransaction, generatePrismaClient } from './generate-prisma-client.ts'
import type { OpenedLibrary } from './opened-library.ts'
import { postgresWitness } from './postgres-witness.ts'

describeWith('postgres')('Prisma', ({ postgres }) => {
  let generated: GeneratedPrisma
  beforeAll(async () => {
    generated = await generatePrismaClient()
  })
  afterAll(() => generated[Symbol.asyncDispose]())

  async function open(url: string): Promise<OpenedLibrary<GeneratedTransaction>> {
    const pool = new Pool({ connectionString: url, max: 10 })
    pool.on('error', () => {})
    pool.on('connect', (client) => client.on('error', () => {}))
    const prisma = generated.create(new PrismaPg(pool, { schema: postgres.schema }))
    return {
      database: fromPrisma({ prisma, background: fromPg(pool) }),
      run: async (tx, text) => tx.$executeRawUnsafe(text),
      ownTransaction: (work) => prisma.$transaction(work),
      outside: (use) => use(prisma as unknown as GeneratedTransaction),
      async close() {
        await prisma.$disconnect()
        await pool.end()
      },
    }
  }

  const witness = postgresWitness(postgres)
  describeAdapter(witness, open)
  describeDoomedTransaction(witness, open)

  test("the event commits with what Prisma's own models write", async () => {
    await witness.clear()
    const { database, close } = await open(postgres.url)
    await database.transaction(async (tx) => {
      await tx.thing.create({ data: { id: 'model' } })
      const { rows } = await database
        .enlist(tx)
        .currentConnection()
        .query('insert into things (id) select unnest($1::text[]) returning id', [['a', 'b']])
      expect(rows).toEqual([{ id: 'a' }, { id: 'b' }])
    })
    expect(await witness.ids()).toEqual(['a', 'b', 'model'])
    await close()
  })

  test('a doomed transaction says what happened', async () => {
    const { database, run, close } = await open(postgres.url)
    const doomed = database.transaction((tx) => run(tx, 'select nonsense').catch(() => {}))
    await expect(doomed).rejects.toThrow(TransactionRolledBackError)
    await close()
  })

  test('the background has to speak the same SQL', async () => {
    const background = { ...fromPg(postgres.pool), dialect: 'sqlite' } as const
    const prisma = generated.create(new PrismaPg(postgres.pool))
    expect(() => fromPrisma({ prisma, background })).toThrow('fromPg(pool)')
    await prisma.$disconnect()
  })
})
