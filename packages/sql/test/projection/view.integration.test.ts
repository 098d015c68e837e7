import type { BuildTable } from '@waybill/core/internal'
import { createProjectionStore, fromMysql2, fromPg, migrate } from '@waybill/sql'
import { describeWith } from '@waybill/test-support'
import { expect, test } from 'vitest'

const first: BuildTable = {
  projection: 'shown',
  number: 1,
  keyColumn: 'id',
  columns: { total: { type: 'integer', isIndexed: false } },
}
const second: BuildTable = { ...first, number: 2, columns: { name: { type: 'text', isIndexed: false } } }
const tables = { outbox: false, inbox: false, projection: 'projection' } as const

describeWith('postgres')('the view of a projection on PostgreSQL', ({ postgres }) => {
  test('keeps its privileges when its columns change', async () => {
    const database = fromPg(postgres.pool)
    await migrate(database, { tables })
    const store = createProjectionStore(database)
    for (const table of [first, second]) await store.createTable(table)
    await store.transaction((tx) => tx.show(first))
    const role = `reader "${postgres.schema}"`
    const quoted = `"${role.replaceAll('"', '""')}"`
    await postgres.pool.query(`CREATE ROLE ${quoted}`)
    try {
      await postgres.pool.query(`GRANT SELECT, UPDATE ON shown TO ${quoted} WITH GRANT OPTION`)
      await postgres.pool.query('GRANT SELECT ON shown TO PUBLIC')
      const granted = async () => {
        const { rows } = await postgres.pool.query(
          `SELECT coalesce(pg_get_userbyid(nullif(a.grantee, 0)), '') AS name, a.privilege_type, a.is_grantable
           FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = 'shown'::regclass AND a.grantee <> c.relowner`,
        )
        return rows.map((row) => JSON.stringify(row)).toSorted()
      }
      const before = await granted()
      expect(before.length).toBe(3)
      await store.transaction((tx) => tx.show(second))
      expect(await granted()).toEqual(before)
      const { fields } = await postgres.pool.query('SELECT * FROM shown')
      expect(fields.map(({ name }) => name)).toEqual(['id', 'name', 'version'])
    } finally {
      await postgres.pool.query(`DROP OWNED BY ${quoted}; DROP ROLE ${quoted}`)
    }
  })
})

describeWith('mysql')('the view of a projection on MySQL or MariaDB', ({ mysql }) => {
  test('keeps the table that it shows from being dropped, after a crash before it was changed', async () => {
    const database = fromMysql2(mysql.pool)
    await migrate(database, { tables })
    const store = createProjectionStore(database)
    for (const table of [first, second]) await store.createTable(table)
    await store.transaction((tx) => tx.show(first))
    await expect(store.dropTable(first)).rejects.toThrow(/still shows the table of build 1/)
    await store.ensureShown(second)
    await store.dropTable(first)
    const [rows] = await mysql.pool.query('SELECT id, name, version FROM shown')
    expect(rows).toEqual([])
  })
})
