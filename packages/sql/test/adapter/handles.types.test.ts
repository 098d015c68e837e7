import type { DatabaseSync } from 'node:sqlite'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { Knex } from 'knex'
import type { Kysely, Transaction } from 'kysely'
import type { Pool as MysqlPool, PoolConnection } from 'mysql2/promise'
import type { Pool, PoolClient } from 'pg'
import type { Sql, TransactionSql } from 'postgres'
import type { DataSource, EntityManager } from 'typeorm'
import { expectTypeOf, test } from 'vitest'
import type { fromDrizzle } from '../../src/adapter/from-drizzle.ts'
import type { fromKnex } from '../../src/adapter/from-knex.ts'
import type { fromKysely } from '../../src/adapter/from-kysely.ts'
import type { fromMysql2 } from '../../src/adapter/from-mysql2.ts'
import type { fromPg } from '../../src/adapter/from-pg.ts'
import type { fromPostgresJs } from '../../src/adapter/from-postgres-js.ts'
import type { fromSqlite } from '../../src/adapter/from-sqlite.ts'
import type { fromTypeOrm } from '../../src/adapter/from-typeorm.ts'
import type { SqlDatabase } from '../../src/database/sql-database.ts'

interface Shop {
  orders: { id: string }
}

/** The handle type that an adapter derives from the real type of a library. */
declare function made<Tx>(database: SqlDatabase<Tx>): Tx

// Compiled, never called.
function handles(
  of: {
    pg: typeof fromPg
    postgresJs: typeof fromPostgresJs
    mysql2: typeof fromMysql2
    sqlite: typeof fromSqlite
    kysely: typeof fromKysely
    drizzle: typeof fromDrizzle
    typeOrm: typeof fromTypeOrm
    knex: typeof fromKnex
  },
  real: {
    pg: Pool
    postgresJs: Sql
    mysql2: MysqlPool
    sqlite: DatabaseSync
    kysely: Kysely<Shop>
    drizzle: NodePgDatabase & { $client: Pool }
    typeOrm: DataSource
    knex: Knex
  },
): void {
  expectTypeOf(made(of.pg(real.pg))).toEqualTypeOf<PoolClient>()
  expectTypeOf(made(of.postgresJs(real.postgresJs))).toEqualTypeOf<TransactionSql>()
  expectTypeOf(made(of.mysql2(real.mysql2))).toEqualTypeOf<PoolConnection>()
  expectTypeOf(made(of.sqlite(real.sqlite))).toEqualTypeOf<DatabaseSync>()
  expectTypeOf(made(of.kysely(real.kysely))).toEqualTypeOf<Transaction<Shop>>()
  expectTypeOf(made(of.drizzle(real.drizzle))).toEqualTypeOf<
    Parameters<Parameters<NodePgDatabase['transaction']>[0]>[0]
  >()
  expectTypeOf(made(of.typeOrm(real.typeOrm))).toEqualTypeOf<EntityManager>()
  expectTypeOf(made(of.knex(real.knex))).toEqualTypeOf<Knex.Transaction>()

  // @ts-expect-error the pool is no transaction
  of.pg(real.pg).enlist(real.pg)
  // @ts-expect-error the sql of all connections is no transaction
  of.postgresJs(real.postgresJs).enlist(real.postgresJs)
  // @ts-expect-error a Kysely is no Transaction
  of.kysely(real.kysely).enlist(real.kysely)
}

test("work gets the handle of each library by that library's own type", () => {
  expectTypeOf(handles).toBeFunction()
})
