import type { MysqlPlace } from '@waybill/test-support'
import type { RowDataPacket } from 'mysql2/promise'
import type { Witness } from './opened-library.ts'

export function mysqlWitness({ url, pool }: MysqlPlace): Witness {
  return {
    url,
    createTable: async () =>
      void (await pool.query('create table things (id varchar(40) character set ascii collate ascii_bin primary key)')),
    clear: async () => void (await pool.query('delete from things')),
    async ids() {
      const [rows] = await pool.query<({ id: string } & RowDataPacket)[]>('select id from things order by id')
      return rows.map(({ id }) => id)
    },
  }
}
