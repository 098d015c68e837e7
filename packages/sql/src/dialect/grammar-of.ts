import type { SqlDialect } from '../database/sql-database.ts'
import type { Grammar } from './grammar.ts'
import { mysqlGrammar } from './mysql-grammar.ts'
import { postgresGrammar } from './postgres-grammar.ts'
import { sqliteGrammar } from './sqlite-grammar.ts'

const grammars: Readonly<Record<SqlDialect, Grammar>> = {
  postgres: postgresGrammar,
  mysql: mysqlGrammar,
  sqlite: sqliteGrammar,
}

/** Returns the grammar of a dialect. */
export function grammarOf(dialect: SqlDialect): Grammar {
  return grammars[dialect]
}
