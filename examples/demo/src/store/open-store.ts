import { openPostgresStore } from './postgres-store.ts'
import type { ShopStore, StoreAddress } from './shop-store.ts'
import { openSqliteStore } from './sqlite-store.ts'

/** Opens the store for the duration of `use`, whatever its driver. */
export async function withStore<T>(address: StoreAddress, use: <Tx>(store: ShopStore<Tx>) => Promise<T>): Promise<T> {
  if (address.kind === 'SQLITE') {
    await using store = openSqliteStore(address.file)
    return await use(store)
  }
  await using store = openPostgresStore(address.url, address.schema)
  return await use(store)
}
