import { ArgumentError } from '@waybill/core'
import { type SqlConnection } from '@waybill/core/internal'
import { hasMethods } from '@waybill/core/option'
import { requireArgument } from '../database/required-argument.ts'
import type { SqlDatabase } from '../database/sql-database.ts'
import { type Background, withBackground } from '../database/with-background.ts'
import { commitByLibrary } from './commit-by-library.ts'
import { askPgTransaction, guardedPgConnection } from './pg-transaction-check.ts'

/** The used part of a Prisma client inside an interactive transaction. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: never[]): PromiseLike<unknown>
  $executeRawUnsafe(text: string, ...values: never[]): PromiseLike<number>
}

/** A Prisma client. The first signature exists because Prisma also accepts a list of statements. */
export interface PrismaDatabase<Tx extends PrismaTransaction> {
  $transaction: {
    (statements: never[], options?: never): Promise<unknown>
    <T>(work: (tx: Tx) => Promise<T>, options?: never): Promise<T>
  }
}

/** Options of {@link fromPrisma}. */
export interface PrismaOptions<Tx extends PrismaTransaction> {
  readonly prisma: PrismaDatabase<Tx>
  /**
   * The same database through its driver, `fromPg(pool)`. Prisma has no sessions outside transactions, and its
   * interactive transactions have a timeout, so background work uses this one. The pool may be the one passed to
   * `PrismaPg`.
   */
  readonly background: Background
}

/**
 * Creates a database through Prisma with `@prisma/adapter-pg`: the handle is the client of an interactive transaction.
 */
export function fromPrisma<Tx extends PrismaTransaction>(options: PrismaOptions<Tx>): SqlDatabase<Tx> {
  const { prisma, background } = Object(options) as PrismaOptions<Tx>
  const areRight = hasMethods(prisma, '$transaction') && hasMethods(background, 'connection')
  requireArgument('fromPrisma', options, areRight, {
    what: 'a Prisma client and a database for the background',
    hint: 'Pass { prisma, background: fromPg(pool) }. The pool may be the one of PrismaPg.',
  })
  if (background.dialect !== 'postgres') {
    throw new ArgumentError(`fromPrisma supports only PostgreSQL, and background is a ${background.dialect} database`, {
      hint: 'Pass fromPg(pool) as background.',
    })
  }
  return withBackground(background, {
    dialect: 'postgres',
    connectionOf: (tx) => guardedPgConnection(prismaConnection(tx)),
    // The methods that connect and disconnect a client are missing inside a transaction, in its types too.
    isInTransaction: (tx) => !('$disconnect' in tx),
    knowsTransactions: true,
    begin: (body, expected) =>
      commitByLibrary({
        transaction: (work) => prisma.$transaction(work),
        body,
        // Prisma hides the driver's flag, so this costs a statement.
        checkBeforeCommit: (tx) => askPgTransaction(prismaConnection(tx), expected),
      }),
  })
}

const answersRows = /^\s*(select|with|values|show|table)\b|\breturning\b/i

function prismaConnection(tx: PrismaTransaction): SqlConnection {
  return {
    async query(text, values) {
      if (!answersRows.test(text)) {
        return { rows: [], changed: await tx.$executeRawUnsafe(text, ...(values as never[])) }
      }
      const rows = (await tx.$queryRawUnsafe(text, ...(values as never[]))) as Record<string, unknown>[]
      return { rows, changed: rows.length }
    },
  }
}
