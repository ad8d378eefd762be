# Reads {"item":"…","count":…} from standard input and writes the order down.
order=$(cat)
echo "$order" >> out/orders.jsonl
echo "ordered: $order"
