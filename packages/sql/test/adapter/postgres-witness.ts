import type { PostgresPlace } from '@waybill/test-support'
import type { Witness } from './opened-library.ts'

export function postgresWitness({ url, pool }: PostgresPlace): Witness {
  return {
    url,
    createTable: async () => void (await pool.query('create table things (id varchar(40) primary key)')),
    clear: async () => void (await pool.query('delete from things')),
    async ids() {
      const { rows } = await pool.query<{ id: string }>('select id from things order by id collate "C"')
      return rows.map(({ id }) => id)
    },
  }
}
