# The page that looks into files: built, and tested in Chromium against the program.

own wasm-page page
need_debian_rust lld
need_program chromium chromium
need_program python3 python3
build_tested --bin striae
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld
export CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_PROFILE_RELEASE_STRIP=true CARGO_PROFILE_RELEASE_PANIC=abort
debian_cargo rustc -p striae-web --lib --release --crate-type cdylib --target wasm32-unknown-unknown \
    -Zbuild-std=std,panic_abort --target-dir "$target/wasm-page"
mkdir -p "$target/page"
page="$target/page/striae.html"
python3 core/inspect/web/assemble.py "$target/wasm-page/wasm32-unknown-unknown/release/striae_web.wasm" "$page"
note "the page has $(($(stat -c %s "$page") / 1000)) kB"

python3 core/inspect/web/tests/page.py \
    "$(command -v chromium)" "$page" "$target/debug/striae" tests/golden "$target/page" |
    tee "$RUN_STATE/page" || fail "the page is not what it should be"
note "$(tail -n 1 "$RUN_STATE/page")"
